// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/range.hpp"

#include <algorithm>
#include <numeric>

namespace rpmem::compare {

Ranges joined(std::vector<Range> ranges) {
    std::ranges::sort(ranges, {}, &Range::begin);
    Ranges result;
    for (const Range& range : ranges) {
        if (range.begin >= range.end)
            continue;
        if (!result.empty() && range.begin <= result.back().end)
            result.back().end = std::max(result.back().end, range.end);
        else
            result.push_back(range);
    }
    return result;
}

std::uint64_t bytes_of(std::span<const Range> ranges) {
    return std::accumulate(
        ranges.begin(), ranges.end(), std::uint64_t{0},
        [](std::uint64_t sum, const Range& range) { return sum + range.size(); });
}

Ranges without(Range range, const Ranges& excluded) {
    Ranges rest;
    for (auto each = std::ranges::upper_bound(excluded, range.begin, {}, &Range::end);
         each != excluded.end() && each->begin < range.end; ++each) {
        if (each->begin > range.begin)
            rest.push_back({range.begin, each->begin});
        range.begin = std::min(each->end, range.end);
    }
    if (range.begin < range.end)
        rest.push_back(range);
    return rest;
}

} // namespace rpmem::compare
