// SPDX-License-Identifier: BSD-3-Clause
// A histogram of call times. The width of a bucket grows with the time, as in HdrHistogram, so the
// relative error is at most 12.5 %.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rpmem::statistics {

// Each power of two has STEPS buckets.
inline constexpr unsigned bits_of_bucket = 3;
inline constexpr unsigned steps = 1U << bits_of_bucket;

// Times above 2^40 ticks, a few minutes, count as this one.
inline constexpr std::uint64_t max_ticks = (std::uint64_t{1} << 40) - 1;

// Adding STEPS makes the formula valid for the smallest times as well, without a branch.
[[nodiscard]] constexpr std::size_t bucket_of(std::uint64_t ticks) {
    const std::uint64_t shifted = std::min(ticks, max_ticks) + steps;
    const unsigned power = static_cast<unsigned>(std::bit_width(shifted)) - 1 - bits_of_bucket;
    return static_cast<std::size_t>(power) * steps + static_cast<std::size_t>(shifted >> power) -
           steps;
}

inline constexpr std::size_t buckets = bucket_of(max_ticks) + 1;

// Returns the smallest time in BUCKET. BUCKET may be one past the last.
[[nodiscard]] constexpr std::uint64_t min_of(std::size_t bucket) {
    const std::size_t power = bucket / steps;
    return ((std::uint64_t{bucket % steps} + steps) << power) - steps;
}

using Counts = std::array<std::uint64_t, buckets>;

// Returns the time that SHARE of all calls (0 to 1) did not exceed, rounded up to the end of its
// bucket. Returns 0 if there are no calls.
[[nodiscard]] inline std::uint64_t quantile(const Counts& counts, double share) {
    double calls = 0; // counts read from another process may overflow an integer
    for (const std::uint64_t count : counts)
        calls += static_cast<double>(count);
    const double wanted = std::max(std::ceil(share * calls), 1.0);
    double seen = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        seen += static_cast<double>(counts[bucket]);
        if (seen >= wanted)
            return min_of(bucket + 1) - 1;
    }
    return 0;
}

} // namespace rpmem::statistics
