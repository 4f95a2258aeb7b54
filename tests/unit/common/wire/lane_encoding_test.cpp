// SPDX-License-Identifier: BSD-3-Clause
// Tests LaneEncoding for lanes of protocol 0.1, which translates frames into persist messages and
// back. The messages are compared with structures of that protocol. The test fails if a frame
// becomes another message, if a frame without a counterpart is sent, or if a message outside the
// pool, one of an unknown mode, or a response without a request is accepted.
#include "common/wire/lane_encoding.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t base = 0x7f0000001000;
constexpr std::uint64_t large_pool = std::uint64_t{6} << 30;

LaneEncoding make_end(LaneEnd end) {
    return LaneEncoding({.end = end, .lane = 7, .remote_base = base, .pool_size = large_pool});
}

template <typename Message>
Bytes bytes_of(const Message& message, std::size_t more = 0) {
    Bytes bytes(sizeof(message) + more);
    std::memcpy(bytes.data(), &message, sizeof(message));
    return bytes;
}

Bytes encoded(LaneEncoding& encoding, const FrameHeader& header) {
    FrameBytes place;
    const auto bytes = encoding.encode(header, place);
    return {bytes.begin(), bytes.end()};
}

TEST(LaneEncoding, AnInitiatorSendsMessagesOfItsLane) {
    LaneEncoding encoding = make_end(LaneEnd::initiator);
    EXPECT_EQ(encoded(encoding, {.type = FrameType::write, .length = 64, .offset = 8, .number = 1}),
              bytes_of(PersistMessage{2, 7, base + 8, 64}));
    EXPECT_EQ(encoded(encoding, {.type = FrameType::persist,
                                 .flags = frame_flag::answer_wanted,
                                 .length = 4096,
                                 .number = 2}),
              bytes_of(PersistMessage{0, 7, base, 4096}));
    EXPECT_EQ(
        encoded(
            encoding,
            {.type = FrameType::persist, .flags = frame_flag::deep, .length = 4096, .number = 3}),
        bytes_of(PersistMessage{1, 7, base, 4096}));
}

TEST(LaneEncoding, WhatAPeerOf01DoesNotKnowIsNotSent) {
    for (const LaneEnd end : {LaneEnd::initiator, LaneEnd::target}) {
        LaneEncoding encoding = make_end(end);
        for (const FrameType type : {FrameType::read, FrameType::bye, FrameType::data,
                                     FrameType::error, FrameType::welcome})
            EXPECT_TRUE(encoded(encoding, {.type = type}).empty()) << static_cast<unsigned>(type);
    }
}

TEST(LaneEncoding, ATargetTakesMessagesAsFramesThatWantAnAnswer) {
    LaneEncoding encoding = make_end(LaneEnd::target);
    const auto taken = [&](const Bytes& message, std::size_t payload) {
        std::span<const std::byte> left(message);
        DecodeFailure why;
        const auto header = encoding.decode(left, 0, why);
        EXPECT_TRUE(header) << why.text;
        EXPECT_EQ(left.size(), payload);
        return header.value_or(FrameHeader{});
    };
    constexpr std::uint8_t wanted = frame_flag::answer_wanted;
    EXPECT_EQ(taken(bytes_of(PersistMessage{2, 0, base + 8, 64}, 64), 64),
              (FrameHeader{FrameType::write, wanted, 64, 8, 1}));
    // The length field of a frame has only 32 bits.
    EXPECT_EQ(taken(bytes_of(PersistMessage{0, 0, base, large_pool}), 0),
              (FrameHeader{FrameType::persist, wanted, large_pool, 0, 2}));
    EXPECT_EQ(taken(bytes_of(PersistMessage{1, 0, base + large_pool, 0}), 0),
              (FrameHeader{FrameType::persist, wanted | frame_flag::deep, 0, large_pool, 3}));
    // Inline data of no bytes become a persist, because a write needs a payload. Bytes after a
    // message of another mode are ignored.
    EXPECT_EQ(taken(bytes_of(PersistMessage{2, 0, base, 0}), 0),
              (FrameHeader{FrameType::persist, wanted, 0, 0, 4}));
    EXPECT_EQ(taken(bytes_of(PersistMessage{0, 0, base, 8}, 16), 0),
              (FrameHeader{FrameType::persist, wanted, 8, 0, 5}));
}

TEST(LaneEncoding, AnAnswerRepeatsTheFlagsOfItsMessage) {
    LaneEncoding encoding = make_end(LaneEnd::target);
    const Bytes message = bytes_of(PersistMessage{0xf0, 0, base, 8});
    std::span<const std::byte> left(message);
    DecodeFailure why;
    ASSERT_TRUE(encoding.decode(left, 0, why)) << why.text;
    EXPECT_EQ(encoded(encoding, {.type = FrameType::ack, .number = 1}),
              bytes_of(PersistResponse{0xf0, 7}));
}

std::string refused(LaneEnd end, const Bytes& message, std::uint64_t posted = 0) {
    LaneEncoding encoding = make_end(end);
    std::span<const std::byte> left(message);
    DecodeFailure why;
    EXPECT_FALSE(encoding.decode(left, posted, why));
    return why.text;
}

TEST(LaneEncoding, MessagesThatBreakTheRulesAreRefused) {
    constexpr auto most = ~std::uint64_t{0};
    const auto target = [](const PersistMessage& message, std::size_t more = 0) {
        return refused(LaneEnd::target, bytes_of(message, more));
    };
    const PersistMessage outside[] = {
        {0, 0, base - 1, 8},          {0, 0, base + large_pool, 1},
        {0, 0, base + 8, large_pool}, {1, 0, base, most},
        {2, 0, base + 8, most - 7},   {0, 0, 0, 8},
        {0, 0, base + most / 2, 8},   {0, 0, most, 8},
    };
    for (const PersistMessage& message : outside)
        EXPECT_TRUE(test::contains(target(message), "not within the pool")) << message.addr;
    EXPECT_TRUE(test::contains(target({3, 0, base, 8}),
                               "sent persist mode 3 in flags 0x3; the maximum is 2"));
    EXPECT_TRUE(
        test::contains(target({2, 0, base, 8}, 16), "announces 8 bytes of data and carries 16"));
    EXPECT_TRUE(test::contains(refused(LaneEnd::target, Bytes(23)), "shorter"));
}

TEST(LaneEncoding, AnswersAreTakenInTheOrderOfTheMessages) {
    LaneEncoding encoding = make_end(LaneEnd::initiator);
    const Bytes answer = bytes_of(PersistResponse{77, 7});
    DecodeFailure why;
    for (const std::uint64_t number : {1U, 2U}) {
        std::span<const std::byte> left(answer);
        EXPECT_EQ(encoding.decode(left, 2, why),
                  (FrameHeader{.type = FrameType::ack, .number = number}));
        EXPECT_TRUE(left.empty());
    }
    std::span<const std::byte> left(answer);
    EXPECT_FALSE(encoding.decode(left, 2, why));
    EXPECT_TRUE(test::contains(why.text, "no message was waiting for one"));
}

TEST(LaneEncoding, AnswersThatBreakTheRulesAreRefused) {
    EXPECT_TRUE(test::contains(refused(LaneEnd::initiator, bytes_of(PersistResponse{0, 8}), 1),
                               "a response for lane 8"));
    for (const std::size_t size : {0U, 7U, 9U})
        EXPECT_TRUE(
            test::contains(refused(LaneEnd::initiator, Bytes(size), 1), "bytes, expected 8"));
}

} // namespace
} // namespace rpmem::wire
