// SPDX-License-Identifier: BSD-3-Clause
// The persistent memory of this machine, read from sysfs, and whether the appliance method suits
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::probe {

// A namespace of an NVDIMM or of similar memory.
struct PersistentDevice {
    std::string name; // /dev/pmem0, /dev/dax0.0
    std::string mode; // fsdax, devdax, sector or raw; empty if unknown
    std::uint64_t size = 0;
    std::string mount{};         // mount point of its file system; empty if not mounted
    bool is_mounted_dax = false; // mounted with -o dax or an equivalent option
    std::string deep_flush{};    // path of the file deep_flush of its region; empty if it has none
    bool may_deep_flush = false; // this user may write to that file
};

struct Storage {
    std::vector<PersistentDevice> devices;
    // cpu_cache (eADR), memory_controller (ADR), or another value of the kernel. Empty if the
    // kernel does not report it.
    std::string persistence_domain;
    std::string processor; // the vendor from /proc/cpuinfo
};

// ROOT is the directory that contains sys and proc. Tests use another one than "/".
[[nodiscard]] Storage examine_storage(const std::filesystem::path& root = "/");

// Returns advice for the operator: whether the appliance method is safe on this target.
[[nodiscard]] std::string advise_on_appliance(const Storage& storage);

} // namespace rpmem::probe
