// SPDX-License-Identifier: BSD-3-Clause
// Identifies a part across sessions.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>

namespace rpmem::target {

class PartFile;

// A part is a file, which may be gone and another one have its name, or its inode number: file
// systems reuse it, with another generation. A Device DAX is there once, and the numbers of its
// node are other ones after a reboot: it is known by its name alone.
struct PartIdentity {
    std::string path; // as the kernel reports it: links are followed
    std::uint64_t file_system = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0; // 0: the file system has none
};

[[nodiscard]] Result<PartIdentity> identify(const PartFile& part);

} // namespace rpmem::target
