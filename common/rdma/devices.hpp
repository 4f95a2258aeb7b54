// SPDX-License-Identifier: BSD-3-Clause
// The RDMA devices that the kernel tells of, and whether this process may use them. Nothing is
// opened, and no library is needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::rdma {

struct Port {
    unsigned number = 0;
    std::string state;                   // as the kernel words it: ACTIVE, DOWN, INIT, ARMED...
    std::string link_layer;              // InfiniBand, Ethernet
    std::vector<std::string> interfaces; // of the network, whose addresses lead to this port

    [[nodiscard]] bool is_active() const { return state == "ACTIVE"; }
};

// Whether a file in /dev can be opened for reading and writing.
enum class FileAccess { usable, missing, forbidden };

struct Device {
    std::string name;   // mlx5_0
    std::string driver; // of the kernel; empty: it does not say, as with those in software
    std::string uverbs; // the name of its file in /dev/infiniband; empty: the kernel gives none
    FileAccess access = FileAccess::missing; // to that file
    std::vector<Port> ports;                 // by number
};

struct Devices {
    bool has_subsystem = false;                      // the kernel knows of RDMA at all
    FileAccess manager_access = FileAccess::missing; // to /dev/infiniband/rdma_cm
    std::vector<Device> devices;                     // by name
};

// ROOT: where sys and dev are; another one than / for tests.
[[nodiscard]] Devices examine_devices(const std::filesystem::path& root = "/");

// Why the device cannot have reliable connections whatever its settings are; empty: it can.
[[nodiscard]] std::string lack_of(const Device& device);

// For people: "mlx5_0 (port 1 ACTIVE, Ethernet, eth0; port 2 DOWN, InfiniBand)".
[[nodiscard]] std::string describe(const Device& device);
[[nodiscard]] std::string describe(const std::vector<Device>& devices);

} // namespace rpmem::rdma
