#include "lanes/gathered_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace rpmem {
namespace {

constexpr std::size_t capacity = 65280;

class GatheredRangesTest : public testing::Test {
protected:
    GatheredRangesTest() {
        for (std::size_t i = 0; i < pool.size(); ++i)
            pool[i] = static_cast<std::byte>(i * 7);
    }

    std::size_t write() {
        std::fill(message.begin(), message.end(), std::byte{0xee});
        return ranges.write(message.data(), first, pool.data());
    }

    GatheredRanges ranges{capacity};
    std::vector<std::byte> pool = std::vector<std::byte>(std::size_t{1} << 20);
    std::vector<std::byte> message = std::vector<std::byte>(capacity);
    const wire::PersistMessage first{2, 3, 0x100000, 0};
};

TEST_F(GatheredRangesTest, GoldenBytes) {
    if (std::endian::native != std::endian::little)
        GTEST_SKIP() << "these are the bytes of another byte order";
    pool[0x20] = std::byte{'a'};
    pool[0x21] = std::byte{'b'};
    std::memcpy(&pool[0x300], "12345678", 8);
    pool[0x45] = std::byte{'z'};
    ranges.add(0x20, 2);
    ranges.add(0x300, 8);
    ranges.add(0x45, 1);
    EXPECT_FALSE(ranges.empty());
    const unsigned char golden[] = {
        0x22, 0,   0,   0,   3,   0,   0,   0,   0x20, 0, 0x10, 0, // flags, lane, address
        0,    0,   0,   0,   2,   0,   0,   0,   0,    0, 0,    0, // size
        'a',  'b', 0,   0,   0,   0,   0,   0,                     // data, and up to 8 bytes
        0x22, 0,   0,   0,   3,   0,   0,   0,   0,    3, 0x10, 0, //
        0,    0,   0,   0,   8,   0,   0,   0,   0,    0, 0,    0, //
        '1',  '2', '3', '4', '5', '6', '7', '8',                   //
        2,    0,   0,   0,   3,   0,   0,   0,   0x45, 0, 0x10, 0, // nothing follows the last
        0,    0,   0,   0,   1,   0,   0,   0,   0,    0, 0,    0, //
        'z'};
    ASSERT_EQ(write(), sizeof(golden));
    EXPECT_EQ(std::memcmp(message.data(), golden, sizeof(golden)), 0);
    EXPECT_TRUE(ranges.empty());
}

TEST_F(GatheredRangesTest, WhatIsInThemIsCopiedWhenTheyAreWritten) {
    ranges.add(64, 8);
    std::memset(&pool[64], 0x5a, 8);
    ASSERT_EQ(write(), 32U);
    EXPECT_EQ(std::memcmp(&message[24], &pool[64], 8), 0);
}

TEST_F(GatheredRangesTest, AMessageIsNeverLongerThanItsCapacity) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{7}, std::size_t{64},
                                     std::size_t{4000}, GatheredRanges::most_length}) {
        ASSERT_TRUE(ranges.is_for(length));
        std::size_t count = 0;
        for (; ranges.has_room_for(length); ++count)
            ranges.add(count * length, length);
        EXPECT_EQ(count, std::min(wire::most_gathered, capacity / wire::size_among_others(length)));
        const std::size_t size = write();
        EXPECT_LE(size, capacity);
        EXPECT_GT(size, (count - 1) * wire::size_among_others(length) + length);
        if (size < capacity) {
            EXPECT_EQ(message[size], std::byte{0xee});
        }
    }
}

// Not more of them before the target says that it goes on than a mebibyte of them would be.
TEST_F(GatheredRangesTest, EachCountsAsSomethingHoweverSmall) {
    EXPECT_EQ(ranges.weight(), 0U);
    for (std::size_t i = 0; i < wire::most_gathered; ++i)
        ranges.add(i, 1);
    EXPECT_EQ(ranges.weight(), std::size_t{1} << 20);
    write();
    EXPECT_EQ(ranges.weight(), 0U);
}

TEST_F(GatheredRangesTest, NotOfAnySize) {
    EXPECT_FALSE(ranges.is_for(GatheredRanges::most_length + 1));
    EXPECT_FALSE(GatheredRanges(0).is_for(1));
}

} // namespace
} // namespace rpmem
