// SPDX-License-Identifier: BSD-3-Clause
// Finds holes of files, so that their pages need not be read. A read would allocate the pages.
#pragma once

#include <cstdint>

namespace rpmem {

// Whether bytes that were stored through a mapping, and are not written back yet, count as data in
// a file system of TYPE (f_type of statfs(2)). Others ask a server or another program where the
// holes are, which does not know such bytes.
[[nodiscard]] bool knows_mapped_data(std::uint64_t type);

// Whether FD is a regular file in such a file system, so that no hole hides data.
[[nodiscard]] bool has_reliable_holes(int fd);

// Returns how many of the SIZE bytes from OFFSET on are in a hole: 0 if the first one is data or
// beyond the end of the file, or if the file system cannot tell.
[[nodiscard]] std::uint64_t hole_at(int fd, std::uint64_t offset, std::uint64_t size);

} // namespace rpmem
