// SPDX-License-Identifier: BSD-3-Clause
// The layout of a pool: which part holds each byte, and at which offset. No input or output.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rpmem {

inline constexpr std::uint64_t layout_page = 4096;

struct PartPlacement {
    // layout_page if the part begins with a header that is not part of the pool, otherwise 0.
    std::uint64_t file_offset;
    std::uint64_t pool_offset;
    std::uint64_t length;
};

struct PartLayout {
    std::vector<PartPlacement> parts;
    std::uint64_t size = 0; // usable bytes of the pool
};

// Returns whether part INDEX begins with a header page. The header page of part 0 is also the first
// page of the pool.
bool has_header(HeaderLayout headers, std::size_t index);

// Fails with EINVAL if a part is smaller than RPMEM_MIN_PART, the pool is smaller than
// RPMEM_MIN_POOL, or its size does not fit into off_t.
Result<PartLayout> lay_out_parts(HeaderLayout headers, std::span<const std::uint64_t> sizes);

} // namespace rpmem
