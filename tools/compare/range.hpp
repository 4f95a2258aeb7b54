// SPDX-License-Identifier: BSD-3-Clause
// Ranges of bytes in a pool. No input or output.
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

// Ascending and disjoint, with adjacent ranges joined.
using Ranges = std::vector<Range>;

// Sorts RANGES and joins those that overlap or are adjacent. Drops empty ones.
[[nodiscard]] Ranges joined(std::vector<Range> ranges);

[[nodiscard]] std::uint64_t bytes_of(std::span<const Range> ranges);

// Returns RANGE without the bytes of EXCLUDED.
[[nodiscard]] Ranges without(Range range, const Ranges& excluded);

} // namespace rpmem::compare
