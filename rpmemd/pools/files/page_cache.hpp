// SPDX-License-Identifier: BSD-3-Clause
// The pages of a file in the page cache.
#pragma once

#include <cstdint>

namespace rpmem::target {

// Returns whether the page cache has a page of the first SIZE bytes of FD. Also returns false if
// the kernel does not report that.
[[nodiscard]] bool has_cached_pages(int fd, std::uint64_t size);

} // namespace rpmem::target
