// A whole lane over tcp, behind its proof: what tests/data/transport/make.py made of the
// description.
#include "common/wire/lane_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace rpmem::wire {
namespace {

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

std::string read_stream(const char* name) {
    std::ifstream file(std::filesystem::path(TRANSPORT_DATA_DIR) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
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

// What the initiator sent is what it would number itself, and what it may send.
TEST(LaneCapture, EachEndKeepsTheRules) {
    Responses initiator(captured_terms);
    Requests target(captured_terms);
    std::string why;
    for (const CapturedFrame& frame : frames_of(read_stream("frames_initiator.bin"))) {
        const FrameHeader& sent = frame.header;
        if (sent.type == FrameType::bye)
            continue; // the end of the stream, where no rules are left
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
