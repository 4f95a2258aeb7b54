// SPDX-License-Identifier: BSD-3-Clause
// Classifies file systems: durable, volatile, or served by another machine.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>

namespace rpmem {

enum class MediumKind {
    lasting,   // durable, as far as the type of the file system shows
    forgetful, // in memory: tmpfs, ramfs
    remote,    // a network or FUSE file system, whose server decides what is durable
};

struct MediumName {
    MediumKind kind = MediumKind::lasting;
    std::string file_system; // empty if the type is not in the table
};

// TYPE is f_type of statfs(2).
[[nodiscard]] MediumName medium_of_type(std::uint64_t type);

// Return the kind of the file system of PATH or FD, or `lasting` if statfs(2) fails.
[[nodiscard]] MediumName medium_of(const std::string& path);
[[nodiscard]] MediumName medium_of(int fd);

// Returns what KIND means for data that is replicated to it; empty for `lasting`.
[[nodiscard]] const char* describe(MediumKind kind);

} // namespace rpmem
