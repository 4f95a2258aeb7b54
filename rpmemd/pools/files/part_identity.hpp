// SPDX-License-Identifier: BSD-3-Clause
// Identifies a part across sessions.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>

namespace rpmem::target {

class PartFile;

// A part file may be replaced by another file with the same name, or even with the same inode
// number, because file systems reuse inode numbers with a new generation. A Device DAX is
// identified by its path only, because the numbers of its node change with a reboot.
struct PartIdentity {
    std::string path; // without symbolic links, as the kernel reports it
    std::uint64_t file_system = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0; // 0 if the file system has no generations
};

[[nodiscard]] Result<PartIdentity> identify(const PartFile& part);

} // namespace rpmem::target
