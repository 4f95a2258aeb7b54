// SPDX-License-Identifier: BSD-3-Clause
// Tests the bytes of frames and credits. Expected bytes are written by hand, and a whole lane in
// both directions comes from a Python program that implements rpmem-protocol(7) by itself. The test
// fails if a field moves, if the checksum differs from CRC-32C or misses a flipped bit, if unusable
// credits are accepted, or if the rules of a lane refuse a frame of the recorded lane.
#include "common/wire/lane_rules.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::wire {
namespace {

constexpr FrameHeader example{.type = FrameType::write,
                              .flags = frame_flag::answer_wanted,
                              .length = 0x01020304,
                              .offset = 0x1112131415161718,
                              .number = 0x2122232425262728};

// The first three values are from RFC 3720, appendix B.4. The last is the common check value of
// CRC-32C.
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

// A later version may give these fields a meaning, which this version must not ignore.
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
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.bytes = min_credit_bytes - 1; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.frames = 0; }));
    EXPECT_FALSE(is_taken([](LaneCredits& other) { other.reads = 0; }));
}

// A frame of the lane over tcp that tests/data/transport/make.py has written. The streams begin
// after the authentication.
struct CapturedFrame {
    FrameHeader header;
    std::string payload;

    bool operator==(const CapturedFrame&) const = default;
};

constexpr LaneCredits captured_credits{
    .bytes = 1 << 20, .payload = 520192, .frames = 256, .reads = 16};
constexpr LaneTerms captured_terms{.credits = captured_credits, .pool_size = 1 << 20};

std::string chars_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

CapturedFrame with_payload(FrameHeader header, std::string payload) {
    header.length = static_cast<std::uint32_t>(payload.size());
    return {header, std::move(payload)};
}

std::vector<CapturedFrame> sent_by_initiator() {
    std::string counted;
    for (char byte = 0; byte < 64; ++byte)
        counted += byte;
    return {
        with_payload({.type = FrameType::write, .offset = 4096, .number = 1},
                     "kept on two machines"),
        with_payload({.type = FrameType::write,
                      .flags = frame_flag::answer_wanted,
                      .offset = 8195,
                      .number = 2},
                     "short"),
        {{.type = FrameType::read, .length = 20, .offset = 4096, .number = 3}, {}},
        {{.type = FrameType::persist,
          .flags = frame_flag::answer_wanted | frame_flag::deep,
          .length = 8192,
          .offset = 4096,
          .number = 4},
         {}},
        with_payload({.type = FrameType::write, .offset = 16384, .number = 5}, counted),
        {{.type = FrameType::persist, .flags = frame_flag::answer_wanted, .number = 6}, {}},
        {{.type = FrameType::bye}, {}},
    };
}

std::vector<CapturedFrame> sent_by_target() {
    return {
        with_payload({.type = FrameType::welcome}, chars_of(encode(captured_credits))),
        {{.type = FrameType::ack, .number = 2}, {}},
        with_payload({.type = FrameType::data, .offset = 4096, .number = 3},
                     "kept on two machines"),
        {{.type = FrameType::ack, .number = 4}, {}},
        with_payload({.type = FrameType::error, .offset = offset_of_error(ErrorKind::medium, EIO)},
                     "the medium of part 0 failed"),
        {{.type = FrameType::bye}, {}},
    };
}

std::string read_stream(const std::string& name) {
    return test::read_file(TRANSPORT_DATA_DIR "/" + name);
}

std::string bytes_of(const std::vector<CapturedFrame>& frames) {
    std::string bytes;
    for (const CapturedFrame& frame : frames)
        bytes += chars_of(encode(frame.header)) + frame.payload;
    return bytes;
}

std::vector<CapturedFrame> frames_of(const std::string& bytes) {
    std::vector<CapturedFrame> frames;
    auto left = std::as_bytes(std::span(bytes));
    while (left.size() >= frame_header_size) {
        const auto header = decode_frame_header(left.first<frame_header_size>());
        if (!header || payload_of(*header) > left.size() - frame_header_size)
            break;
        left = left.subspan(frame_header_size);
        frames.push_back({*header, chars_of(left.first(payload_of(*header)))});
        left = left.subspan(payload_of(*header));
    }
    EXPECT_TRUE(left.empty()) << left.size() << " bytes are no frame";
    return frames;
}

TEST(LaneCapture, EveryFrameIsEncodedToTheSameBytes) {
    EXPECT_EQ(bytes_of(sent_by_initiator()), read_stream("frames_initiator.bin"));
    EXPECT_EQ(bytes_of(sent_by_target()), read_stream("frames_target.bin"));
}

TEST(LaneCapture, EveryFrameIsDecoded) {
    EXPECT_EQ(frames_of(read_stream("frames_initiator.bin")), sent_by_initiator());
    const auto frames = frames_of(read_stream("frames_target.bin"));
    EXPECT_EQ(frames, sent_by_target());
    std::array<std::byte, lane_credits_size> payload;
    ASSERT_EQ(frames.front().payload.size(), payload.size());
    std::ranges::copy(std::as_bytes(std::span(frames.front().payload)), payload.begin());
    EXPECT_EQ(decode_lane_credits(payload), captured_credits);
}

// The initiator would send the same headers, and each end accepts the frames of the other.
TEST(LaneCapture, EachEndKeepsTheRules) {
    ResponseRules initiator(captured_terms);
    RequestRules target(captured_terms);
    std::string why;
    for (const CapturedFrame& frame : frames_of(read_stream("frames_initiator.bin"))) {
        const FrameHeader& sent = frame.header;
        if (sent.type == FrameType::bye)
            continue; // ends the stream; the rules do not cover it
        EXPECT_EQ(initiator.add(sent.type, sent.flags, sent.offset,
                                static_cast<std::uint32_t>(sent.length)),
                  sent);
        EXPECT_TRUE(target.check(sent, why)) << why;
        target.complete(sent);
    }
    EXPECT_EQ(target.last_complete(), 6U);
    for (const CapturedFrame& frame : frames_of(read_stream("frames_target.bin"))) {
        const FrameHeader& sent = frame.header;
        if (sent.type == FrameType::welcome || sent.type == FrameType::bye)
            continue;
        EXPECT_TRUE(initiator.check(sent, why)) << why;
        if (sent.type == FrameType::data)
            initiator.read_complete();
    }
    EXPECT_EQ(initiator.acknowledged(), 4U);
    EXPECT_EQ(initiator.reads(), 0U);
}

} // namespace
} // namespace rpmem::wire
