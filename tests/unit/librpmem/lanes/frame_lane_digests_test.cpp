// SPDX-License-Identifier: BSD-3-Clause
// Tests the initiator's digests with a target that sends malformed answers, over a stub connection.
// The test fails if an answer with a wrong length, offset or number is accepted, if it is stored in
// the memory of the caller, if a long range is not split into frames that a target accepts, or if
// the caller waits before it computes its own digests.
#include "librpmem/lanes/frame_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/stub_connection.hpp"

namespace rpmem::initiator::lane_digests {
namespace {

using test::StubConnection;
using wire::BlockDigest;
using wire::digest_block;
using wire::FrameHeader;
using wire::FrameType;

constexpr std::size_t page = 4096;
constexpr std::size_t pool_size = 3 * wire::max_digest_range + page;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size,
    .digests = true};

struct StubLane {
    StubConnection* connection = new StubConnection; // owned by the lane
    FrameLane lane{std::unique_ptr<transport::LaneConnection>(connection),
                   std::make_unique<test::StubGroup>(),
                   terms,
                   nullptr, // digests read no memory
                   {-1, [] { return true; }},
                   std::chrono::milliseconds(1000)};
};

TEST(LaneDigests, OfALongRangeTakeSeveralFrames) {
    StubLane stub;
    wire::RequestRules target(terms);
    std::vector<BlockDigest> digests(wire::digest_count(pool_size));
    EXPECT_EQ(stub.lane.digests(digests, 0, pool_size), ETIMEDOUT); // there is no answer
    std::uint64_t offset = 0;
    for (const FrameHeader& sent : stub.connection->posted()) {
        std::string why;
        EXPECT_TRUE(target.check(sent, why)) << why;
        EXPECT_EQ(sent.type, FrameType::digest);
        EXPECT_EQ(sent.offset, offset);
        offset += sent.length;
    }
    EXPECT_EQ(offset, pool_size);
    EXPECT_EQ(stub.connection->posted().size(), 4U) << "all at once, without an answer";
}

// The caller computes its own digests while the target computes those of the requests.
TEST(LaneDigests, AreRequestedBeforeTheCallerGoesOn) {
    StubLane stub;
    std::vector<BlockDigest> digests(wire::digest_count(pool_size));
    std::size_t requested = 0;
    EXPECT_EQ(stub.lane.digests(digests, 0, pool_size,
                                [&] { requested = stub.connection->posted().size(); }),
              ETIMEDOUT);
    EXPECT_EQ(requested, 4U);
}

TEST(LaneDigests, AreNotStoredAfterAnException) {
    StubLane stub;
    std::vector<BlockDigest> digests(wire::digest_count(pool_size));
    EXPECT_THROW(
        static_cast<void>(stub.lane.digests(digests, 0, pool_size, [] { throw std::bad_alloc(); })),
        std::bad_alloc);
    EXPECT_TRUE(stub.connection->ended());
}

// The answers arrive in frames of their own, each for its part of the memory.
TEST(LaneDigests, AreStoredInTheirPlaces) {
    StubLane stub;
    std::uint8_t next = 1;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        const std::size_t count = number < 4 ? wire::max_digests : 1;
        std::vector<std::byte> payload;
        for (std::size_t i = 0; i < count; ++i)
            payload.insert(payload.end(), wire::digest_size, static_cast<std::byte>(next++));
        stub.connection->deliver({{.type = FrameType::data,
                                   .length = payload.size(),
                                   .offset = (number - 1) * wire::max_digest_range,
                                   .number = number},
                                  payload});
    }
    std::vector<BlockDigest> digests(wire::digest_count(pool_size));
    ASSERT_EQ(stub.lane.digests(digests, 0, pool_size), 0) << stub.lane.violation();
    for (std::size_t i = 0; i < digests.size(); ++i) {
        BlockDigest expected;
        expected.fill(static_cast<std::byte>(i + 1));
        EXPECT_EQ(digests[i], expected) << i;
    }
}

struct Answer {
    const char* name;
    FrameHeader header;
};
class MalformedDigests : public testing::TestWithParam<Answer> {};

// The request is for 3 blocks at block 1, with number 1.
constexpr FrameHeader good{
    .type = FrameType::data, .length = 3 * wire::digest_size, .offset = digest_block, .number = 1};

constexpr FrameHeader with(std::uint64_t length, std::uint64_t offset, std::uint64_t number) {
    return {.type = FrameType::data, .length = length, .offset = offset, .number = number};
}

INSTANTIATE_TEST_SUITE_P(
    , MalformedDigests,
    testing::Values(Answer{"OneTooMany", with(good.length + 16, good.offset, 1)},
                    Answer{"OneTooFew", with(good.length - 16, good.offset, 1)},
                    Answer{"HalfADigest", with(good.length - 8, good.offset, 1)},
                    Answer{"Nothing", with(0, good.offset, 1)},
                    Answer{"TheRange", with(3 * digest_block, good.offset, 1)},
                    Answer{"OtherOffset", with(good.length, 0, 1)},
                    Answer{"OtherNumber", with(good.length, good.offset, 2)},
                    Answer{"Flags", {FrameType::data, 1, good.length, good.offset, 1}},
                    Answer{"Digest", {FrameType::digest, 0, good.length, good.offset, 1}}),
    [](const auto& answer) { return std::string(answer.param.name); });

TEST_P(MalformedDigests, EndTheLane) {
    StubLane stub;
    stub.connection->deliver(
        {GetParam().header, std::vector<std::byte>(GetParam().header.length, std::byte{0x77})});
    std::array<BlockDigest, 3> digests{};
    EXPECT_EQ(stub.lane.digests(digests, digest_block, 3 * digest_block), EBADMSG);
    EXPECT_EQ(digests, (std::array<BlockDigest, 3>{}));
    EXPECT_TRUE(test::contains(stub.lane.violation(), "sent "));
    EXPECT_NE(stub.lane.drain() + stub.lane.persist(0, 0, false), 0);
}

TEST(LaneDigests, ThatAreGoodEndNoLane) { // the answer of which the others are variations
    StubLane stub;
    stub.connection->deliver({good, std::vector<std::byte>(good.length, std::byte{0x77})});
    std::array<BlockDigest, 3> digests{};
    EXPECT_EQ(stub.lane.digests(digests, digest_block, 3 * digest_block), 0);
    EXPECT_EQ(digests[2][15], std::byte{0x77});
}

} // namespace
} // namespace rpmem::initiator::lane_digests
