// SPDX-License-Identifier: BSD-3-Clause
// The mappings of this process, from /proc/self/maps.
#pragma once

#include "common/base/result.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

// A line of the file, see proc_pid_maps(5).
struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool is_readable = false;
    bool is_shared = false;
    std::uint64_t file_offset = 0; // of BEGIN
    unsigned major = 0;            // the device of the file
    unsigned minor = 0;
    ino_t inode = 0; // 0 if no file is mapped
    std::string path;
};

// Returns the mappings that overlap with MEMORY, in the order of their addresses.
[[nodiscard]] Result<std::vector<Mapping>> mappings_of(std::span<const std::byte> memory);

} // namespace rpmem::initiator
