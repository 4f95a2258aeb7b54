// SPDX-License-Identifier: BSD-3-Clause
// Whether what a file is stored on forgets it with the power, or is another machine's.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>

namespace rpmem {

enum class MediumKind {
    lasting,   // as far as the file system tells
    forgetful, // in memory: tmpfs, ramfs
    remote,    // a network or FUSE file system: what is durable there, its server decides
};

struct MediumName {
    MediumKind kind = MediumKind::lasting;
    std::string file_system; // empty: not one of those that are known here
};

// TYPE is f_type of statfs(2).
[[nodiscard]] MediumName medium_of_type(std::uint64_t type);

// Of the file system of PATH or FD; lasting if it does not tell.
[[nodiscard]] MediumName medium_of(const std::string& path);
[[nodiscard]] MediumName medium_of(int fd);

// The consequence for data that is replicated to it; empty for a medium that lasts.
[[nodiscard]] const char* describe(MediumKind kind);

} // namespace rpmem
