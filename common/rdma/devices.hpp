// SPDX-License-Identifier: BSD-3-Clause
// The RDMA devices of this machine, read from sysfs, and whether this process may use them. Opens
// no device and loads no library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::rdma {

struct Port {
    unsigned number = 0;
    std::string state;                   // from the kernel: ACTIVE, DOWN, INIT, ARMED...
    std::string link_layer;              // InfiniBand, Ethernet
    std::vector<std::string> interfaces; // network interfaces whose addresses use this port

    [[nodiscard]] bool is_active() const { return state == "ACTIVE"; }
};

// Whether a file in /dev can be opened for reading and writing.
enum class FileAccess { usable, missing, forbidden };

struct Device {
    std::string name;   // mlx5_0
    std::string driver; // kernel driver; empty if sysfs names none, as for software devices
    std::string uverbs; // name of its file in /dev/infiniband; empty if there is none
    FileAccess access = FileAccess::missing; // access to that file
    std::vector<Port> ports;                 // sorted by number
};

struct Devices {
    bool has_subsystem = false;                      // the kernel has loaded the RDMA subsystem
    FileAccess manager_access = FileAccess::missing; // access to /dev/infiniband/rdma_cm
    std::vector<Device> devices;                     // sorted by name
};

// ROOT is the directory that contains sys and dev. Tests use another one than "/".
[[nodiscard]] Devices examine_devices(const std::filesystem::path& root = "/");

// Returns why DEVICE never supports reliable connections, or an empty text if it does.
[[nodiscard]] std::string lack_of(const Device& device);

// Return a text for display: "mlx5_0 (port 1 ACTIVE, Ethernet, eth0; port 2 DOWN, InfiniBand)".
[[nodiscard]] std::string describe(const Device& device);
[[nodiscard]] std::string describe(const std::vector<Device>& devices);

} // namespace rpmem::rdma
