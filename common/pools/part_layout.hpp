// SPDX-License-Identifier: BSD-3-Clause
// The layout of a pool: the part of each byte, and its place there. Pure arithmetic.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rpmem {

inline constexpr std::uint64_t layout_page = 4096;

struct PartPlacement {
    std::uint64_t file_offset; // 0, or one page if a header comes first that is not in the pool
    std::uint64_t pool_offset;
    std::uint64_t length;
};

struct PartLayout {
    std::vector<PartPlacement> parts;
    std::uint64_t size = 0; // usable bytes of the pool
};

// Does part INDEX start with a header page? (That of part 0 is also the first page of the pool.)
bool has_header(HeaderLayout headers, std::size_t index);

// EINVAL: a part is smaller than RPMEM_MIN_PART, or all together do not fit an address space.
Result<PartLayout> lay_out_parts(HeaderLayout headers, std::span<const std::uint64_t> sizes);

} // namespace rpmem
