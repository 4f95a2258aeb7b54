// SPDX-License-Identifier: BSD-3-Clause
// A directory with the files of sysfs and /dev that describe RDMA devices. The tests of common/rdma
// examine it instead of the files of this machine. They find mistakes of the product only as long
// as these files have the names and texts that a real kernel gives them.
#pragma once

#include "tests/support/expect.hpp"

namespace rpmem::rdma {

class DeviceTree : public testing::Test {
protected:
    // Others may read the directory, because a test examines it as another user.
    DeviceTree() { std::filesystem::permissions(root, std::filesystem::perms(0755)); }

    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root / file).parent_path());
        std::ofstream(root / file) << text;
    }

    // Adds the RDMA subsystem of the kernel, and rdma_cm, through which programs connect.
    void add_subsystem() const {
        std::filesystem::create_directories(root / "sys/class/infiniband");
        write("dev/infiniband/rdma_cm", "");
    }

    void add_port(const std::string& device, unsigned number, const std::string& state,
                  const std::string& link_layer, const std::string& interface = "") const {
        const std::string port =
            "sys/class/infiniband/" + device + "/ports/" + std::to_string(number) + "/";
        write(port + "state", state + "\n");
        write(port + "link_layer", link_layer + "\n");
        if (!interface.empty()) {
            write(port + "gid_attrs/ndevs/0", interface + "\n");
            write(port + "gid_attrs/ndevs/1", interface + "\n");
            write(port + "gid_attrs/ndevs/2", ""); // unused: the kernel returns an error
        }
    }

    // Adds the files through which a program uses DEVICE.
    void add_user_access(const std::string& device, unsigned number) const {
        const std::string uverbs = "uverbs" + std::to_string(number);
        write("sys/class/infiniband_verbs/" + uverbs + "/ibdev", device + "\n");
        write("dev/infiniband/" + uverbs, "");
    }

    void add_driver(const std::string& device, const std::string& driver) const {
        const auto directory = root / "sys/class/infiniband" / device / "device";
        std::filesystem::create_directories(directory);
        std::filesystem::create_symlink("../../../../bus/pci/drivers/" + driver,
                                        directory / "driver");
    }

    // Adds an interface for IP over InfiniBand.
    void add_child_interface(const std::string& interface, const std::string& device,
                             unsigned port) const {
        const std::string directory = "sys/class/net/" + interface + "/";
        std::filesystem::create_directories(root / directory / "device/infiniband" / device);
        write(directory + "dev_port", std::to_string(port - 1) + "\n");
    }

    const test::TemporaryDirectory temporary;
    const std::filesystem::path root = temporary.path();
};

} // namespace rpmem::rdma
