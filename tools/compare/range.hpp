// SPDX-License-Identifier: BSD-3-Clause
// Ranges of the bytes of a pool. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rpmem::compare {

struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// Ascending, without overlaps, and neighbours joined.
using Ranges = std::vector<Range>;

[[nodiscard]] Ranges joined(std::vector<Range> ranges);

[[nodiscard]] std::uint64_t bytes_of(std::span<const Range> ranges);

// RANGE without the bytes of EXCLUDED.
[[nodiscard]] Ranges without(Range range, const Ranges& excluded);

} // namespace rpmem::compare
