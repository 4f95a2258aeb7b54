// SPDX-License-Identifier: BSD-3-Clause
// Tests FrameLane::persist_copies() and send_copies() over a stub connection. The test fails if it
// sends other bytes than those of the copy, if a piece does not fit into the buffers of libfabric,
// if they return 0 before the target has acknowledged what they wait for, or if a range that was
// not acknowledged is forgotten.
#include "librpmem/lanes/frame_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/stub_connection.hpp"

#include <array>

namespace rpmem::initiator::lane_copies {
namespace {

using wire::FrameType;

constexpr std::size_t pool_size = std::size_t{1} << 20;
constexpr std::size_t offset = std::size_t{64} * 1024 + 4096;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 256 * 1024, .payload = 16 * 1024, .frames = 64, .reads = 4},
    .pool_size = pool_size};

struct CopyLane {
    test::StubConnection* connection = new test::StubConnection; // owned by the lane
    FrameLane lane{std::unique_ptr<transport::LaneConnection>(connection),
                   std::make_unique<test::StubGroup>(),
                   terms,
                   nullptr, // only the copy is read
                   {-1, [] { return true; }},
                   std::chrono::milliseconds(1000)};
    std::vector<std::byte> copy = std::vector<std::byte>(100'000);
    std::array<CopiedRange, 1> whole{CopiedRange{copy, offset}};
};

TEST(LaneCopies, AreSentInPiecesAndDrained) {
    CopyLane stub;
    stub.connection->acknowledge_all();
    ASSERT_EQ(stub.lane.persist_copies(stub.whole), 0) << stub.lane.violation();
    std::size_t sent = 0;
    const auto& posted = stub.connection->posted();
    for (std::size_t i = 0; i + 1 < posted.size(); ++i) {
        EXPECT_EQ(posted[i].type, FrameType::write);
        EXPECT_EQ(posted[i].offset, offset + sent);
        EXPECT_EQ(stub.connection->pieces()[i].data(), stub.copy.data() + sent);
        EXPECT_LE(posted[i].length, max_read_piece(terms.credits.payload));
        sent += posted[i].length;
    }
    EXPECT_EQ(sent, stub.copy.size());
    EXPECT_EQ(posted.back().type, FrameType::persist) << "asks for the ack";
    EXPECT_FALSE(stub.lane.has_unacknowledged());
}

// The send buffers of a FabricConnection have 256 bytes. A larger piece ends the connection.
TEST(LaneCopies, FitIntoTheBuffersOfTheTransport) {
    CopyLane stub;
    stub.connection->acknowledge_all();
    stub.connection->limit_copies(230);
    ASSERT_EQ(stub.lane.persist_copies(stub.whole), 0) << stub.lane.violation();
    std::size_t sent = 0;
    for (const auto piece : stub.connection->pieces()) {
        EXPECT_LE(piece.size(), 224) << "whole words";
        sent += piece.size();
    }
    EXPECT_EQ(sent, stub.copy.size());
}

TEST(LaneCopies, ThatAreLentNeedNoSmallPieces) {
    CopyLane stub;
    stub.connection->acknowledge_all();
    stub.connection->limit_copies(230);
    stub.lane.lend_copies(stub.copy);
    ASSERT_EQ(stub.lane.persist_copies(stub.whole), 0) << stub.lane.violation();
    EXPECT_EQ(stub.connection->pieces()[0].size(), max_read_piece(terms.credits.payload));
    stub.lane.lend_copies({});
    ASSERT_EQ(stub.lane.persist_copies(stub.whole), 0) << stub.lane.violation();
    EXPECT_LE(stub.connection->pieces().back().size(), 230U);
}

// Each wait for an ack would cost a round trip.
TEST(LaneCopies, OfSeveralRangesAreDrainedTogether) {
    CopyLane stub;
    stub.connection->acknowledge_all();
    const std::span<const std::byte> copy = stub.copy;
    const std::array<CopiedRange, 3> ranges{CopiedRange{copy.first(64), offset},
                                            CopiedRange{copy.subspan(64, 64), offset + 4096},
                                            CopiedRange{copy.subspan(128, 64), 0}};
    ASSERT_EQ(stub.lane.persist_copies(ranges), 0) << stub.lane.violation();
    const auto& posted = stub.connection->posted();
    ASSERT_EQ(posted.size(), ranges.size() + 1);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_EQ(posted[i].offset, ranges[i].offset);
        EXPECT_EQ(stub.connection->pieces()[i].data(), ranges[i].copy.data());
    }
    EXPECT_EQ(posted.back().type, FrameType::persist) << "asks for the ack";
}

// The first call waits for nothing. The second one waits for the first, in vain without an ack.
TEST(LaneCopies, AreSentBeforeTheFormerOnesAreDurable) {
    CopyLane stub;
    ASSERT_EQ(stub.lane.send_copies(stub.whole, 0), 0) << stub.lane.violation();
    EXPECT_TRUE(stub.lane.has_unacknowledged());
    EXPECT_EQ(stub.connection->posted().back().type, FrameType::persist) << "asks for the ack";
    const std::size_t first = stub.connection->posted().size();
    EXPECT_EQ(stub.lane.send_copies(stub.whole, stub.lane.last_sent()), ETIMEDOUT);
    EXPECT_EQ(stub.connection->posted().size(), 2 * first);
}

TEST(LaneCopies, WithoutAnAckTheyAreNotDurable) {
    CopyLane stub;
    EXPECT_EQ(stub.lane.persist_copies(stub.whole), ETIMEDOUT);
    std::vector<PoolRange> unconfirmed;
    stub.lane.add_unconfirmed(unconfirmed);
    std::size_t bytes = 0;
    for (const PoolRange& range : unconfirmed)
        bytes += range.length;
    EXPECT_EQ(bytes, stub.copy.size());
    EXPECT_EQ(unconfirmed.at(0).offset, offset);
}

} // namespace
} // namespace rpmem::initiator::lane_copies
