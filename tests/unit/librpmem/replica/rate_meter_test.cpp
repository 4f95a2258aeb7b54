// SPDX-License-Identifier: BSD-3-Clause
// Tests the rate of a catch-up at times that the test chooses. The test fails if the rate is wrong,
// if it jumps with each batch, or if it stays after sending has stalled.
#include "librpmem/replica/rate_meter.hpp"

#include <gtest/gtest.h>

namespace rpmem::initiator {
namespace {

using std::chrono::milliseconds;
constexpr RateMeter::Clock::time_point begin(std::chrono::hours(1));

TEST(RateMeter, TheFirstWindowCountsBeforeItIsFull) {
    RateMeter meter;
    meter.start(begin);
    EXPECT_EQ(meter.per_second(begin), 0U);
    EXPECT_EQ(meter.per_second(begin + milliseconds(10)), 0U);
    meter.count(1000, begin + milliseconds(100));
    EXPECT_EQ(meter.per_second(begin + milliseconds(500)), 2000U);
}

TEST(RateMeter, AFullWindowIsKeptUntilTheNextOneIsFull) {
    RateMeter meter;
    meter.start(begin);
    meter.count(1000, begin + milliseconds(100));
    meter.count(1000, begin + milliseconds(1000));
    EXPECT_EQ(meter.per_second(begin + milliseconds(1001)), 2000U);
    meter.count(9000, begin + milliseconds(1100));
    EXPECT_EQ(meter.per_second(begin + milliseconds(1200)), 2000U);
    meter.count(0, begin + milliseconds(2000));
    EXPECT_EQ(meter.per_second(begin + milliseconds(2000)), 9000U);
}

TEST(RateMeter, TheRateFallsWhenSendingStalls) {
    RateMeter meter;
    meter.start(begin);
    meter.count(8000, begin + milliseconds(1000));
    meter.count(1000, begin + milliseconds(1500));
    EXPECT_EQ(meter.per_second(begin + milliseconds(3000)), 500U);
    EXPECT_EQ(meter.per_second(begin + milliseconds(101000)), 10U);
}

TEST(RateMeter, AnotherSessionStartsAnew) {
    RateMeter meter;
    meter.start(begin);
    meter.count(8000, begin + milliseconds(1000));
    meter.start(begin + milliseconds(1100));
    EXPECT_EQ(meter.per_second(begin + milliseconds(1200)), 0U);
}

} // namespace
} // namespace rpmem::initiator
