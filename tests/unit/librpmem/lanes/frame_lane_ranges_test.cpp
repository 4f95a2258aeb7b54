// SPDX-License-Identifier: BSD-3-Clause
// Tests the frames of a deep persist of more than 4 GiB, and the ranges that a lane reports as
// unconfirmed. A stub connection keeps the headers, because real lanes would need a very large pool
// or RDMA. The test fails if a frame misses a part of the range, or if a lost session would not
// replay what was not acknowledged.
#include "librpmem/lanes/frame_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/stub_connection.hpp"

namespace rpmem::initiator {
namespace {

using test::StubConnection;

constexpr std::size_t gibibyte = std::size_t{1} << 30;
constexpr std::size_t page = 4096;

// A lane whose pool is an address without memory, because the stub does not read the data.
struct StubLane {
    explicit StubLane(std::size_t size, bool is_appliance = false)
        : lane(std::unique_ptr<transport::LaneConnection>(connection),
               std::make_unique<test::StubGroup>(),
               {.credits = {.bytes = UINT32_MAX,
                            .payload = static_cast<std::uint32_t>(gibibyte),
                            .frames = 16,
                            .reads = 4},
                .pool_size = size,
                .direct = is_appliance,
                .appliance = is_appliance},
               reinterpret_cast<std::byte*>(page), {-1, [] { return true; }},
               std::chrono::milliseconds(1000)) {}

    StubConnection* connection = new StubConnection; // owned by the lane
    FrameLane lane;
};

TEST(LaneRanges, ADeepPersistBeyond4GiBIsForAllOfIt) {
    constexpr std::size_t begin = page;
    constexpr std::size_t length = 5 * gibibyte + 24;
    StubLane stub(6 * gibibyte);
    stub.connection->acknowledge_all();
    ASSERT_EQ(stub.lane.deep_persist(begin, length), 0);
    std::size_t deep_end = begin;
    std::size_t deep_frames = 0;
    std::size_t data_end = begin;
    for (const wire::FrameHeader& frame : stub.connection->posted()) {
        if (frame.type == wire::FrameType::write) {
            EXPECT_EQ(frame.offset, data_end);
            data_end += frame.length;
        } else if ((frame.flags & wire::frame_flag::deep) != 0) {
            EXPECT_EQ(frame.offset, deep_end) << "of deep frame " << deep_frames;
            deep_end += frame.length;
            ++deep_frames;
        }
    }
    EXPECT_EQ(data_end, begin + length);
    EXPECT_EQ(deep_end, begin + length);
    EXPECT_EQ(deep_frames, 2U);
}

using Ranges = std::vector<PoolRange>;

Ranges unconfirmed(const FrameLane& lane) {
    Ranges ranges;
    lane.add_unconfirmed(ranges);
    return ranges;
}

// Until a read has confirmed them, direct writes may still be in transit.
TEST(LaneRanges, WhatTheDeviceWroteIsUnconfirmedUntilItIsRead) {
    StubLane stub(gibibyte, true);
    ASSERT_EQ(stub.lane.flush(page, 5 * page, true), 0);
    ASSERT_EQ(stub.lane.flush(10 * page, page, true), 0);
    EXPECT_EQ(unconfirmed(stub.lane), (Ranges{{page, 5 * page}, {10 * page, page}}));
    ASSERT_EQ(stub.lane.drain(), 0);
    EXPECT_EQ(unconfirmed(stub.lane), Ranges{});
}

TEST(LaneRanges, FramesAreUnconfirmedUntilTheyAreAcknowledged) {
    StubLane stub(gibibyte);
    ASSERT_EQ(stub.lane.flush(page, 64, false), 0);
    ASSERT_EQ(stub.lane.flush(3 * page, 64, false), 0);
    EXPECT_EQ(unconfirmed(stub.lane), (Ranges{{page, 64}, {3 * page, 64}}));
    stub.connection->deliver({{.type = wire::FrameType::ack, .number = 1}});
    ASSERT_EQ(stub.lane.drain(), ETIMEDOUT);
    EXPECT_EQ(unconfirmed(stub.lane), (Ranges{{3 * page, 64}}));
}

} // namespace
} // namespace rpmem::initiator
