// The bytes of frames, and what they may say.
#include "common/wire/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace rpmem::wire {
namespace {

constexpr FrameHeader example{.type = FrameType::write,
                              .flags = frame_flag::answer_wanted,
                              .length = 0x01020304,
                              .offset = 0x1112131415161718,
                              .number = 0x2122232425262728};

// Of RFC 3720, appendix B.4.
TEST(Crc32c, IsThatOfIscsi) {
    std::array<std::byte, 32> bytes{};
    EXPECT_EQ(crc32c(bytes), 0x8a9136aaU);
    bytes.fill(std::byte{0xff});
    EXPECT_EQ(crc32c(bytes), 0x62a8ab43U);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i);
    EXPECT_EQ(crc32c(bytes), 0x46dd794eU);
    const std::string digits = "123456789";
    EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283U);
}

TEST(FrameHeader, HasTheBytesOfTheManual) {
    const FrameBytes bytes = encode(example);
    const unsigned char expected[] = {1,    1,    0,    0,    0x04, 0x03, 0x02, 0x01, 0x18, 0x17,
                                      0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
                                      0x24, 0x23, 0x22, 0x21, 0,    0,    0,    0};
    EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof(expected)), 0);
    const auto decoded = decode_frame_header(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, example);
}

TEST(FrameHeader, EveryFlippedBitIsNoticed) {
    for (std::size_t bit = 0; bit < frame_header_size * 8; ++bit) {
        FrameBytes bytes = encode(example);
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_FALSE(decode_frame_header(bytes)) << bit;
    }
}

// A later version may give them a meaning, which must not be overlooked.
TEST(FrameHeader, ReservedFieldsMustBeZero) {
    for (const std::size_t place : {2U, 3U, 24U, 25U, 26U, 27U}) {
        FrameBytes bytes = encode(example);
        bytes[place] = std::byte{1};
        const std::uint32_t checksum = crc32c(std::span(bytes).first(28));
        std::memcpy(bytes.data() + 28, &checksum, sizeof(checksum));
        EXPECT_FALSE(decode_frame_header(bytes)) << place;
    }
}

TEST(LaneCredits, TravelAndMustBeOfUse) {
    const LaneCredits credits{
        .bytes = 1 << 20, .payload = (1 << 19) - 32, .frames = 256, .reads = 16};
    EXPECT_EQ(decode_lane_credits(encode(credits)), credits);
    const auto is_taken = [&](auto change) {
        LaneCredits other = credits;
        change(other);
        return decode_lane_credits(encode(other)).has_value();
    };
    EXPECT_TRUE(is_taken([](LaneCredits& other) { other.payload = 8; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.payload = 7; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { ++other.payload; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.bytes = least_credit_bytes - 1; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.frames = 0; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.reads = 0; }));
}

} // namespace
} // namespace rpmem::wire
