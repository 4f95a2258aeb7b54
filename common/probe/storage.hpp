// SPDX-License-Identifier: BSD-3-Clause
// Persistent memory of this node, as the kernel tells of it; and what that means for the appliance
// method.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::probe {

// A namespace of an NVDIMM, or what stands in its place.
struct PersistentDevice {
    std::string name; // /dev/pmem0, /dev/dax0.0
    std::string mode; // fsdax, devdax, sector, raw; empty: unknown
    std::uint64_t size = 0;
    std::string mount{};         // where a file system of it is mounted; empty: nowhere
    bool is_mounted_dax = false; // with -o dax, or the like
    std::string deep_flush{};    // the file of its region to ask for a deep flush; empty: none
    bool may_deep_flush = false; // this user may write to it
};

struct Storage {
    std::vector<PersistentDevice> devices;
    // Where stores are safe: cpu_cache (eADR), memory_controller (ADR), or what the kernel says;
    // empty: it does not.
    std::string persistence_domain;
    std::string processor; // its vendor, as in /proc/cpuinfo
};

// ROOT: where sys and proc are; another one than / for tests.
[[nodiscard]] Storage examine_storage(const std::filesystem::path& root = "/");

// Whether the appliance method would be right, for the operator of this target.
[[nodiscard]] std::string advise_on_appliance(const Storage& storage);

} // namespace rpmem::probe
