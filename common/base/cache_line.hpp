// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace rpmem {

// The size of a cache line in bytes on x86-64 and most AArch64 processors. Another size only costs
// time.
inline constexpr std::size_t cache_line = 64;

constexpr std::size_t up_to_cache_lines(std::size_t size) {
    return (size + cache_line - 1) / cache_line * cache_line;
}

} // namespace rpmem
