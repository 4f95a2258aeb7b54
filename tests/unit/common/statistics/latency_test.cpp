// SPDX-License-Identifier: BSD-3-Clause
// Tests the buckets and quantiles of the latency histogram, and the length of a tick by the real
// clock. The test fails if a bucket overlaps its neighbour, leaves a gap or is too wide for an
// error of 12.5 %, if a quantile exceeds that of the sorted times by more than a bucket or is below
// it, or if the length of a tick is wrong by orders of magnitude.
#include "common/statistics/latency.hpp"
#include "common/statistics/ticks.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rpmem::statistics {
namespace {

TEST(Latency, BucketsAreInARowAndNarrow) {
    EXPECT_EQ(bucket_of(0), 0);
    EXPECT_EQ(min_of(0), 0);
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        const std::uint64_t least = min_of(bucket);
        const std::uint64_t most = min_of(bucket + 1) - 1;
        ASSERT_LE(least, most);
        ASSERT_EQ(bucket_of(least), bucket);
        ASSERT_EQ(bucket_of(most), bucket);
        ASSERT_LE(most - least, (most + steps) / steps) << bucket;
    }
    EXPECT_EQ(bucket_of(max_ticks), buckets - 1);
    EXPECT_EQ(bucket_of(UINT64_MAX), buckets - 1) << "a clock that went back is only a wrong count";
}

// The expected quantiles are taken from the sorted times themselves.
TEST(Latency, QuantilesAreThoseOfTheTimes) {
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> times(5000);
    Counts counts{};
    for (std::uint64_t& time : times) {
        time = random() >> (30 + random() % 30);
        ++counts[bucket_of(time)];
    }
    std::sort(times.begin(), times.end());
    for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(share * 5000));
        const std::uint64_t exact = times[std::max<std::size_t>(rank, 1) - 1];
        EXPECT_GE(quantile(counts, share), exact) << share;
        EXPECT_LE(quantile(counts, share), exact + (exact + steps) / steps) << share;
    }
    EXPECT_EQ(quantile(Counts{}, 0.5), 0);
}

TEST(Ticks, AreNanosecondsWhenTimeHasPassed) {
    const Moment then = moment();
    Moment now = moment();
    while (now.nanoseconds - then.nanoseconds < 5000000)
        now = moment();
    const double rate = nanoseconds_of_tick(then, now);
    EXPECT_GT(rate, 0.01);
    EXPECT_LT(rate, 1000);
    EXPECT_EQ(nanoseconds_of_tick(now, then), 1) << "of moments that make no sense";
}

} // namespace
} // namespace rpmem::statistics
