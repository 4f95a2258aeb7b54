// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/part_layout.hpp"

#include <librpmem.h>

#include <limits>

namespace rpmem {

bool has_header(HeaderLayout headers, std::size_t index) {
    return headers == HeaderLayout::every_part ||
           (headers == HeaderLayout::first_part_only && index == 0);
}

Result<PartLayout> lay_out_parts(HeaderLayout headers, std::span<const std::uint64_t> sizes) {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    PartLayout layout;
    for (std::size_t index = 0; index < sizes.size(); ++index) {
        if (sizes[index] < RPMEM_MIN_PART)
            return invalid("part {} of the pool set has {} bytes; the minimum is {}", index,
                           sizes[index], RPMEM_MIN_PART);
        const auto skipped = index > 0 && has_header(headers, index) ? layout_page : 0;
        const auto length = sizes[index] / layout_page * layout_page - skipped;
        if (length > largest - layout.size)
            return invalid("the pool set is too large: its parts have more than {} bytes together",
                           largest);
        layout.parts.push_back({skipped, layout.size, length});
        layout.size += length;
    }
    if (layout.size < RPMEM_MIN_POOL)
        return invalid("the pool has {} bytes; the minimum is {}", layout.size, RPMEM_MIN_POOL);
    return layout;
}

} // namespace rpmem
