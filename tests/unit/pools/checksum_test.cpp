#include "rpmemd/pools/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>

namespace rpmem::target {
namespace {

template <std::size_t Count>
std::uint64_t checksum(const std::array<std::uint32_t, Count>& words, std::size_t self = SIZE_MAX,
                       std::size_t zero_from = SIZE_MAX) {
    return fletcher_checksum(std::as_bytes(std::span(words)), self, zero_from);
}

TEST(Checksum, SumsWordsAndSums) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 3>{1, 2, 3}),
              (std::uint64_t{1 + 3 + 6} << 32) | 6);
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{}), 0U);
    EXPECT_EQ(checksum(std::array<std::uint32_t, 0>{}), 0U);
}

TEST(Checksum, SumsWrapAt32Bits) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 2>{0xffffffff, 2}), std::uint64_t{0} << 32 | 1);
}

TEST(Checksum, ItsOwnBytesCountAsZeroButAsWords) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{1, 7, 8, 2}, 4),
              checksum(std::array<std::uint32_t, 4>{1, 0, 0, 2}));
    EXPECT_NE(checksum(std::array<std::uint32_t, 4>{1, 7, 8, 2}, 4),
              checksum(std::array<std::uint32_t, 2>{1, 2}));
}

TEST(Checksum, TheEndCountsAsZeroButAsWords) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{1, 2, 9, 9}, SIZE_MAX, 8),
              checksum(std::array<std::uint32_t, 4>{1, 2, 0, 0}));
    EXPECT_NE(checksum(std::array<std::uint32_t, 4>{1, 2, 9, 9}, SIZE_MAX, 8),
              checksum(std::array<std::uint32_t, 2>{1, 2}));
}

} // namespace
} // namespace rpmem::target
