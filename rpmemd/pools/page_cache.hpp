// SPDX-License-Identifier: BSD-3-Clause
// The pages of a file that the kernel keeps in memory.
#pragma once

#include <cstdint>

namespace rpmem::target {

// A page of the first SIZE bytes of FD is in the page cache. False also where nobody can tell.
[[nodiscard]] bool has_cached_pages(int fd, std::uint64_t size);

} // namespace rpmem::target
