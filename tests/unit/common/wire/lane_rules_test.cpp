// SPDX-License-Identifier: BSD-3-Clause
// Tests RequestRules and ResponseRules, which check every header of a lane, with single headers and
// with a long random exchange between both ends. The test fails if one end accepts a frame that
// violates type, flags, range, number or credits, if it refuses a valid one, if digests are served
// without the capability, or if credits of the peer make it allocate memory without a limit.
#include "common/wire/lane_rules.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <limits>

namespace rpmem::wire {
namespace {

constexpr std::uint64_t pool_size = 1 << 20;
constexpr LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16384, .frames = 8, .reads = 2},
    .pool_size = pool_size};
constexpr LaneTerms with_digests{
    .credits = terms.credits, .pool_size = 4 * max_digest_range + 4096, .digests = true};
constexpr std::uint32_t min_weight = 2304; // the credits that the smallest frame uses

FrameHeader frame(FrameType type, std::uint64_t length, std::uint64_t number = 1,
                  std::uint8_t flags = 0, std::uint64_t offset = 4096) {
    return {.type = type, .flags = flags, .length = length, .offset = offset, .number = number};
}

// END is RequestRules or ResponseRules.
template <typename End>
testing::AssertionResult taken(End& end, const FrameHeader& header) {
    std::string why;
    if (end.check(header, why))
        return testing::AssertionSuccess();
    EXPECT_FALSE(why.empty());
    return testing::AssertionFailure() << why;
}

testing::AssertionResult taken(const FrameHeader& header, const LaneTerms& own = terms) {
    RequestRules requests(own);
    return taken(requests, header);
}

testing::AssertionResult completed(RequestRules& requests, const FrameHeader& header) {
    auto result = taken(requests, header);
    requests.complete(header);
    return result;
}

TEST(RequestRules, OnlyWhatAnInitiatorSends) {
    for (unsigned type = 0; type < 256; ++type) {
        const auto header = frame(static_cast<FrameType>(type), type == 2 ? 0 : 64);
        EXPECT_EQ(type >= 1 && type <= 3, static_cast<bool>(taken(header))) << type;
        const auto at_block = frame(static_cast<FrameType>(type), type == 2 ? 0 : 64, 1, 0, 0);
        EXPECT_EQ(type >= 1 && type <= 4, static_cast<bool>(taken(at_block, with_digests))) << type;
    }
}

// The error text is that for an unknown type of frame.
TEST(RequestRules, DigestsNeedTheirCapability) {
    const auto refused = taken(frame(FrameType::digest, 64, 1, 0, 0));
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.message(), "sent a frame of type 4, which an initiator does not send");
}

TEST(RequestRules, DigestsAreOfWholeBlocksWithinThePool) {
    const auto digest = [](std::uint64_t offset, std::uint64_t length, std::uint8_t flags = 0) {
        return taken(frame(FrameType::digest, length, 1, flags, offset), with_digests);
    };
    const auto why = [&](std::uint64_t offset, std::uint64_t length) {
        return std::string(digest(offset, length).message());
    };
    const std::uint64_t size = with_digests.pool_size;
    EXPECT_TRUE(digest(0, 1));
    EXPECT_TRUE(digest(digest_block, max_digest_range));
    EXPECT_TRUE(digest(size - 4096, 4096)) << "the last block of the pool is shorter";
    EXPECT_TRUE(digest(0, digest_block + 4096)) << "the pool of the initiator may be shorter";
    EXPECT_TRUE(digest(0, 64, frame_flag::answer_wanted)) << "has no effect, as for a read";
    EXPECT_FALSE(digest(0, 64, frame_flag::deep));
    EXPECT_EQ(why(0, 0), "sent a frame of type 4 for 0 bytes, where 1 to 1048576 are allowed");
    EXPECT_EQ(why(0, max_digest_range + 1),
              "sent a frame of type 4 for 1048577 bytes, where 1 to 1048576 are allowed");
    EXPECT_EQ(why(digest_block - 8, 64),
              "requested digests from offset 65528, which is not a multiple of 65536");
    EXPECT_EQ(why(size - 4096, 4097), "named a range of 4097 bytes at offset 4194304, which is not "
                                      "within the pool of 4198400 bytes");
    EXPECT_FALSE(digest(std::numeric_limits<std::uint64_t>::max() - digest_block + 1, 64));
}

TEST(RequestRules, ASessionThatOnlyReadsMayAskForDigests) {
    LaneTerms only_reads = with_digests;
    only_reads.read_only = true;
    EXPECT_TRUE(taken(frame(FrameType::digest, 64, 1, 0, 0), only_reads));
}

TEST(RequestRules, FlagsAreThoseOfTheType) {
    using namespace frame_flag;
    for (unsigned flags = 0; flags < 256; ++flags) {
        const auto flag = static_cast<std::uint8_t>(flags);
        EXPECT_EQ(flags <= answer_wanted, bool(taken(frame(FrameType::write, 64, 1, flag))));
        EXPECT_EQ(flags <= answer_wanted, bool(taken(frame(FrameType::read, 64, 1, flag))));
        EXPECT_EQ(flags <= (answer_wanted | deep),
                  bool(taken(frame(FrameType::persist, 0, 1, flag))));
    }
}

TEST(RequestRules, RangesLieWithinThePool) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    for (const FrameType type : {FrameType::write, FrameType::read}) {
        EXPECT_TRUE(taken(frame(type, 64, 1, 0, pool_size - 64)));
        for (const std::uint64_t offset :
             {pool_size - 63, pool_size, pool_size + 1, most - 63, most - 31, most})
            EXPECT_FALSE(taken(frame(type, 64, 1, 0, offset))) << offset;
    }
    const auto deep = [](std::uint32_t length, std::uint64_t offset) {
        return frame(FrameType::persist, length, 1, frame_flag::deep, offset);
    };
    EXPECT_TRUE(taken(deep(pool_size, 0)));
    EXPECT_FALSE(taken(deep(pool_size, 1)));
    EXPECT_FALSE(taken(deep(std::numeric_limits<std::uint32_t>::max(), 0)));
}

TEST(RequestRules, PayloadsHaveBounds) {
    for (const FrameType type : {FrameType::write, FrameType::read}) {
        EXPECT_FALSE(taken(frame(type, 0)));
        EXPECT_TRUE(taken(frame(type, 1)));
        EXPECT_TRUE(taken(frame(type, terms.credits.payload)));
        EXPECT_FALSE(taken(frame(type, terms.credits.payload + 1)));
    }
}

TEST(RequestRules, ASessionThatOnlyReadsWritesNothing) {
    LaneTerms only_reads = terms;
    only_reads.read_only = true;
    EXPECT_TRUE(taken(frame(FrameType::read, 64), only_reads));
    EXPECT_FALSE(taken(frame(FrameType::write, 64), only_reads));
    EXPECT_FALSE(taken(frame(FrameType::persist, 64, 1, frame_flag::deep), only_reads));
    EXPECT_FALSE(taken(frame(FrameType::persist, 0, 1, frame_flag::deep), only_reads));
    EXPECT_TRUE(taken(frame(FrameType::persist, 0), only_reads));
}

// Without direct access, an initiator writes by frames only, so no range remains to be persisted.
TEST(RequestRules, RangesToPersistNeedDirectAccess) {
    EXPECT_FALSE(taken(frame(FrameType::persist, 64)));
    LaneTerms direct = terms;
    direct.direct = true;
    EXPECT_TRUE(taken(frame(FrameType::persist, 64), direct));
}

TEST(RequestRules, NumbersCountUp) {
    EXPECT_FALSE(taken(frame(FrameType::write, 64, 0)));
    EXPECT_FALSE(taken(frame(FrameType::write, 64, 2)));
    RequestRules requests(terms);
    EXPECT_TRUE(taken(requests, frame(FrameType::write, 64, 1)));
    EXPECT_FALSE(taken(requests, frame(FrameType::write, 64, 1)));
    EXPECT_FALSE(taken(requests, frame(FrameType::read, 64, 3)));
    EXPECT_TRUE(taken(requests, frame(FrameType::read, 64, 2)));
}

TEST(RequestRules, CreditsAreKept) {
    RequestRules requests(terms);
    std::uint64_t number = 0;
    for (; number < terms.credits.frames; ++number)
        ASSERT_TRUE(completed(requests, frame(FrameType::write, 64, number + 1)));
    EXPECT_FALSE(taken(requests, frame(FrameType::write, 64, number + 1)));
    requests.acknowledged();
    EXPECT_TRUE(taken(requests, frame(FrameType::write, 64, number + 1)));

    RequestRules bytes(terms);
    for (number = 1; number <= 3; ++number)
        ASSERT_TRUE(taken(bytes, frame(FrameType::write, terms.credits.payload, number)));
    const std::uint32_t left = terms.credits.bytes - 3 * (terms.credits.payload + 32) - 32;
    EXPECT_FALSE(taken(bytes, frame(FrameType::write, left + 1, number)));
    EXPECT_TRUE(taken(bytes, frame(FrameType::write, left, number)));
}

// An ack does not cover a frame of which only the header has arrived.
TEST(RequestRules, AnAckFreesWhatIsComplete) {
    RequestRules requests(terms);
    ASSERT_TRUE(completed(requests, frame(FrameType::write, terms.credits.payload, 1)));
    ASSERT_TRUE(taken(requests, frame(FrameType::write, terms.credits.payload, 2)));
    requests.acknowledged();
    EXPECT_EQ(requests.last_complete(), 1U);
    ASSERT_TRUE(taken(requests, frame(FrameType::write, terms.credits.payload, 3)));
    ASSERT_TRUE(taken(requests, frame(FrameType::write, terms.credits.payload, 4)));
    EXPECT_FALSE(taken(requests, frame(FrameType::write, terms.credits.payload, 5)));
}

TEST(RequestRules, AnAckIsDueWhenItIsWantedOrHalfOfTheCreditsAreTaken) {
    RequestRules requests(terms);
    EXPECT_FALSE(requests.owes_ack());
    for (std::uint64_t number = 1; number <= 4; ++number) {
        EXPECT_FALSE(requests.ack_is_due()) << number;
        ASSERT_TRUE(completed(requests, frame(FrameType::write, 64, number)));
        EXPECT_TRUE(requests.owes_ack());
    }
    EXPECT_TRUE(requests.ack_is_due());
    requests.acknowledged();
    EXPECT_FALSE(requests.ack_is_due() || requests.owes_ack());
    ASSERT_TRUE(completed(requests, frame(FrameType::persist, 0, 5, frame_flag::answer_wanted)));
    EXPECT_TRUE(requests.ack_is_due());
    RequestRules large(terms);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        EXPECT_FALSE(large.ack_is_due());
        ASSERT_TRUE(completed(large, frame(FrameType::write, terms.credits.payload, number)));
    }
    EXPECT_TRUE(large.ack_is_due());
}

// The target keeps the data of a read until they are sent, so their size has a limit.
TEST(RequestRules, ReadsAreBounded) {
    RequestRules requests(terms);
    ASSERT_TRUE(taken(requests, frame(FrameType::read, 64, 1)));
    ASSERT_TRUE(taken(requests, frame(FrameType::read, 64, 2)));
    EXPECT_FALSE(taken(requests, frame(FrameType::read, 64, 3)));
    requests.answered(64);
    EXPECT_TRUE(taken(requests, frame(FrameType::read, 64, 3)));
    LaneTerms many = terms;
    many.credits.reads = 100;
    RequestRules bytes(many);
    for (std::uint64_t number = 1; number <= 4; ++number)
        ASSERT_TRUE(taken(bytes, frame(FrameType::read, terms.credits.payload, number)));
    EXPECT_FALSE(taken(bytes, frame(FrameType::read, 1, 5)));
}

// A digest costs a read, and the bytes of its answer. It needs no ack.
TEST(RequestRules, DigestsAreBoundedLikeReads) {
    const auto of_all = [](std::uint64_t number) {
        return frame(FrameType::digest, max_digest_range, number, 0, 0);
    };
    RequestRules requests(with_digests);
    ASSERT_TRUE(completed(requests, of_all(1)));
    ASSERT_TRUE(completed(requests, frame(FrameType::read, 64, 2)));
    EXPECT_FALSE(taken(requests, of_all(3)));
    EXPECT_FALSE(requests.owes_ack());
    requests.answered(max_digests * digest_size);
    EXPECT_TRUE(taken(requests, of_all(3)));
    LaneTerms many = with_digests;
    many.credits.reads = 1000;
    RequestRules bytes(many);
    const std::uint64_t most = many.credits.bytes / (max_digests * digest_size);
    for (std::uint64_t number = 1; number <= most; ++number)
        ASSERT_TRUE(taken(bytes, of_all(number))) << number;
    EXPECT_FALSE(taken(bytes, frame(FrameType::digest, 1, most + 1, 0, 0)));
}

// Both ends count credits in the same way. The target accepts every frame that the initiator's own
// rules allow.
TEST(ResponseRules, SendWhatRequestsTake) {
    ResponseRules responses(with_digests);
    RequestRules requests(with_digests);
    std::deque<FrameHeader> reads;
    unsigned random = 1;
    const auto next = [&random](unsigned below) {
        random = random * 1103515245 + 12345;
        return (random >> 16) % below;
    };
    for (int step = 0; step < 20000; ++step) {
        const auto type = static_cast<FrameType>(1 + next(4));
        const auto length =
            type == FrameType::persist ? 0 : 1 + next(next(2) != 0 ? 64 : terms.credits.payload);
        const bool asks_for_data = type == FrameType::read || type == FrameType::digest;
        if (responses.has_room(type, length)) {
            const auto header = responses.add(type, 0, 0, length);
            ASSERT_TRUE(completed(requests, header)) << step;
            if (asks_for_data)
                reads.push_back(header);
        } else if (asks_for_data) {
            const FrameHeader read = reads.front();
            reads.pop_front();
            const std::uint64_t size = read.type == FrameType::read ? read.length : digest_size;
            requests.answered(size);
            ASSERT_TRUE(
                taken(responses, frame(FrameType::data, size, read.number, 0, read.offset)));
            responses.read_complete();
        } else {
            ASSERT_TRUE(requests.owes_ack());
            requests.acknowledged();
            ASSERT_TRUE(
                taken(responses, {.type = FrameType::ack, .number = requests.last_complete()}));
        }
    }
}

// Reads use no credits of frames, so no number of reads prevents a write.
TEST(ResponseRules, ReadsAreNotCountedAsFrames) {
    ResponseRules responses(terms);
    for (int i = 0; i < 100; ++i) {
        const auto read = responses.add(FrameType::read, 0, 0, 64);
        ASSERT_TRUE(taken(responses, frame(FrameType::data, 64, read.number, 0, 0)));
        responses.read_complete();
    }
    EXPECT_TRUE(responses.has_room(FrameType::write, 64));
    EXPECT_EQ(responses.add(FrameType::write, 0, 0, 64).number, 101U);
    EXPECT_EQ(responses.last_write(), 101U);
}

TEST(ResponseRules, AcksRiseAndAreForWhatWasSent) {
    ResponseRules responses(terms);
    const auto ack = [&](std::uint64_t number) {
        return taken(responses, {.type = FrameType::ack, .number = number});
    };
    EXPECT_FALSE(ack(0));
    EXPECT_FALSE(ack(1));
    for (int i = 0; i < 3; ++i)
        static_cast<void>(responses.add(FrameType::write, 0, 0, 64));
    EXPECT_FALSE(ack(4));
    EXPECT_FALSE(ack(std::numeric_limits<std::uint64_t>::max()));
    EXPECT_TRUE(ack(2));
    EXPECT_EQ(responses.acknowledged(), 2U);
    EXPECT_FALSE(ack(2)); // repeated
    EXPECT_FALSE(ack(1));
    EXPECT_TRUE(ack(3));
    static_cast<void>(responses.add(FrameType::write, 0, 0, 64));
    EXPECT_FALSE(taken(responses, {.type = FrameType::ack, .length = 8, .number = 4}));
    EXPECT_FALSE(taken(responses, {.type = FrameType::ack, .offset = 8, .number = 4}));
    EXPECT_FALSE(taken(responses, {.type = FrameType::ack, .flags = 1, .number = 4}));
}

TEST(ResponseRules, DataAnswerTheOldestRead) {
    ResponseRules responses(terms);
    const auto data = [&](std::uint32_t length, std::uint64_t offset, std::uint64_t number) {
        return taken(responses, frame(FrameType::data, length, number, 0, offset));
    };
    EXPECT_FALSE(data(64, 0, 1));
    static_cast<void>(responses.add(FrameType::read, 0, 4096, 64));
    static_cast<void>(responses.add(FrameType::read, 0, 8192, 128));
    EXPECT_FALSE(responses.has_room(FrameType::read, 1));
    EXPECT_FALSE(data(128, 8192, 2));
    EXPECT_FALSE(data(63, 4096, 1));
    EXPECT_FALSE(data(64, 4095, 1));
    EXPECT_FALSE(data(64, 4096, 2));
    EXPECT_TRUE(data(64, 4096, 1));
    responses.read_complete();
    EXPECT_FALSE(data(64, 4096, 1));
    EXPECT_TRUE(data(128, 8192, 2));
}

TEST(ResponseRules, DigestsAnswerTheOldestDigest) {
    ResponseRules responses(with_digests);
    const auto data = [&](std::uint64_t length, std::uint64_t offset, std::uint64_t number) {
        return taken(responses, frame(FrameType::data, length, number, 0, offset));
    };
    constexpr std::uint64_t offset = 2 * digest_block;
    EXPECT_EQ(responses.add(FrameType::digest, 0, offset, digest_block + 1).number, 1U);
    static_cast<void>(responses.add(FrameType::read, 0, 0, 64));
    EXPECT_FALSE(responses.has_room(FrameType::digest, 1));
    EXPECT_EQ(responses.last_write(), 0U) << "a digest needs no ack";
    EXPECT_FALSE(data(digest_block + 1, offset, 1)) << "the range itself";
    EXPECT_FALSE(data(digest_size, offset, 1));
    EXPECT_FALSE(data(3 * digest_size, offset, 1));
    EXPECT_FALSE(data(2 * digest_size, offset + digest_block, 1));
    EXPECT_FALSE(data(2 * digest_size, offset, 2));
    EXPECT_STREQ(data(16, offset, 1).message(),
                 "sent 16 bytes of offset 131072 for frame number 1, expected 32 bytes of offset "
                 "131072 for frame number 1");
    EXPECT_TRUE(data(2 * digest_size, offset, 1));
    responses.read_complete();
    EXPECT_TRUE(responses.has_room(FrameType::digest, 1));
    EXPECT_TRUE(data(64, 0, 2));
}

TEST(ResponseRules, ErrorsAreBounded) {
    ResponseRules responses(terms);
    const auto error = [&](std::uint64_t offset, std::uint32_t length) {
        return taken(responses, {.type = FrameType::error, .length = length, .offset = offset});
    };
    EXPECT_TRUE(error(offset_of_error(ErrorKind::medium, 5), max_error_text));
    EXPECT_FALSE(error(offset_of_error(ErrorKind::medium, 5), max_error_text + 1));
    EXPECT_FALSE(error(offset_of_error(ErrorKind::medium, 0), 0));
    EXPECT_FALSE(error(offset_of_error(ErrorKind::medium, 4096), 0));
    EXPECT_TRUE(error(offset_of_error(static_cast<ErrorKind>(77), 5), 0)) << "of a later version";
}

// The limits of this end bound its memory, whatever credits the peer grants.
TEST(ResponseRules, CreditsWithoutEndTakeNoMemory) {
    LaneTerms boundless = terms;
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    boundless.credits = {.bytes = most, .payload = most / 2, .frames = most, .reads = most};
    ResponseRules responses(boundless);
    unsigned frames = 0;
    while (responses.has_room(FrameType::write, 1) && frames < 100000) {
        static_cast<void>(responses.add(FrameType::write, 0, 0, 1));
        ++frames;
    }
    EXPECT_EQ(frames, 1024U);
    while (responses.has_room(FrameType::read, 1) && responses.reads() < 100)
        static_cast<void>(responses.add(FrameType::read, 0, 0, 1));
    EXPECT_EQ(responses.reads(), max_reads);
}

static_assert(min_weight == weight_of({.type = FrameType::persist}));

} // namespace
} // namespace rpmem::wire
