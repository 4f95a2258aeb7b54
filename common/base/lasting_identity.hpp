// SPDX-License-Identifier: BSD-3-Clause
// Identifies a file across reboots, mounts and renames.
#pragma once

#include <cstdint>
#include <optional>

namespace rpmem {

struct LastingIdentity {
    std::uint64_t file_system = 0; // its ID (f_fsid), or its device if it has none
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0; // 0 on file systems without generations: tmpfs, NFS

    bool operator==(const LastingIdentity&) const = default;
};

// Returns nothing if the file cannot be examined. errno then has the reason.
[[nodiscard]] std::optional<LastingIdentity> lasting_identity(int fd);

} // namespace rpmem
