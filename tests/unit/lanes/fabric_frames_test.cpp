// SPDX-License-Identifier: BSD-3-Clause
// Tests lanes over libfabric that carry frames, from the library's calls to the daemon's pool, with
// direct access and without. The recorder of the medium keeps an image of what would survive a
// power failure. The test fails if a call returns before its range is durable, if a newer write is
// overwritten by an older one, if a read misses flushed bytes, or if an error of the medium is
// acknowledged.
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/lanes/fabric_session.hpp"

namespace rpmem::target::fabric_frames {
namespace {

using namespace initiator;

using test::Recorder;
using wire::PersistMethod;

struct Way {
    const char* name;
    PoolAccess access;
    PersistMethod method;
    const std::vector<Share>& shares;
};

class FabricFrames : public ::testing::TestWithParam<Way> {
protected:
    FabricFrames()
        : served(GetParam().shares, GetParam().access, 2),
          lanes(value_of(
              FabricLanes::open(request_for(*served.server, memory, GetParam().method, watch.fd()),
                                fabric_settings(), test::fabric_timeout))) {
        Recorder::instance().reset();
        Recorder::instance().watch(served.pool.begin(), pool_size);
        Recorder::instance().delay(std::chrono::milliseconds(2)); // an early ack becomes visible
    }
    ~FabricFrames() override {
        lanes.reset();
        Recorder::instance().reset();
    }

    [[nodiscard]] FrameLane& lane(unsigned index = 0) const {
        return *value_of(lanes->use_lane(index, test::fabric_timeout));
    }
    void fill(const Range& range) {
        for (std::size_t i = 0; i < range.size; ++i)
            memory[range.offset + i] = static_cast<std::byte>(++byte_);
    }
    [[nodiscard]] bool is_there(const Range& range) const {
        return std::memcmp(served.pool.begin() + range.offset, memory.data() + range.offset,
                           range.size) == 0;
    }
    // With the appliance method, bytes of relaxed calls are durable once they are in the pool.
    [[nodiscard]] bool is_durable(const Range& range, bool relaxed) const {
        if (relaxed && GetParam().method == PersistMethod::appliance)
            return is_there(range);
        return std::ranges::equal(Recorder::instance().image(range.offset, range.size),
                                  std::span(memory).subspan(range.offset, range.size));
    }

    Event watch = value_of(Event::make());
    std::vector<std::byte> memory = std::vector<std::byte>(pool_size);
    ServedSession served;
    std::unique_ptr<ConnectionLanes> lanes;

private:
    unsigned byte_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    , FabricFrames,
    ::testing::Values(
        Way{"DirectFile", PoolAccess::direct, PersistMethod::general_purpose, one_file},
        Way{"DirectPmem", PoolAccess::direct, PersistMethod::general_purpose, one_pmem},
        Way{"Appliance", PoolAccess::direct, PersistMethod::appliance, one_pmem},
        Way{"FramesOnly", PoolAccess::frames, PersistMethod::general_purpose, one_file}),
    [](const auto& way) { return std::string(way.param.name); });

TEST_P(FabricFrames, WhatPersistReturnsForIsDurable) {
    for (const bool relaxed : {false, true})
        for (const Range& range : sample_ranges) {
            SCOPED_TRACE(std::to_string(range.size) + (relaxed ? " relaxed" : " strict"));
            fill(range);
            ASSERT_EQ(lane().persist(range.offset, range.size, relaxed), 0) << lane().violation();
            EXPECT_TRUE(is_durable(range, relaxed));
            EXPECT_FALSE(lane().has_unacknowledged());
            fill(range);
            ASSERT_EQ(lane().deep_persist(range.offset, range.size), 0) << lane().violation();
            EXPECT_TRUE(is_durable(range, false));
        }
}

TEST_P(FabricFrames, DrainIsForAllThatWasFlushed) {
    for (const bool relaxed : {false, true})
        for (const Range& range : sample_ranges) {
            fill({0, pool_size});
            const Range first{0, range.offset};
            if (first.size > 0) {
                ASSERT_EQ(lane().flush(first.offset, first.size, !relaxed), 0);
            }
            ASSERT_EQ(lane().flush(range.offset, range.size, relaxed), 0);
            EXPECT_TRUE(lane().has_unacknowledged());
            ASSERT_EQ(lane().drain(), 0) << lane().violation();
            EXPECT_FALSE(lane().has_unacknowledged());
            EXPECT_TRUE(is_durable(range, relaxed));
            EXPECT_TRUE(is_durable(first, !relaxed));
        }
}

// The target copies the bytes of a frame late. A direct write that follows the frame is newer.
TEST_P(FabricFrames, ANewerWriteIsNotOverwritten) {
    Recorder::instance().delay(std::chrono::milliseconds(20));
    const Range small{page + 8, 192}; // copied when it is posted
    const Range large{page, 8 * page};
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 8; ++i) { // keeps the worker busy
            fill(small);
            ASSERT_EQ(lane().flush(small.offset, small.size, false), 0);
        }
        fill(large);
        ASSERT_EQ(lane().persist(large.offset, large.size, true), 0) << lane().violation();
        ASSERT_EQ(lane().drain(), 0);
        EXPECT_TRUE(is_there(large)) << round;
    }
}

TEST_P(FabricFrames, ReadSeesWhatWasFlushedBefore) {
    std::vector<std::byte> elsewhere(pool_size);
    for (const bool relaxed : {false, true})
        for (const Range& range : sample_ranges) {
            fill(range);
            ASSERT_EQ(lane().flush(range.offset, range.size, relaxed), 0);
            const std::vector<std::byte> sent(
                memory.begin() + static_cast<std::ptrdiff_t>(range.offset),
                memory.begin() + static_cast<std::ptrdiff_t>(range.offset + range.size));
            ASSERT_EQ(lane().read(elsewhere.data(), range.offset, range.size), 0)
                << lane().violation();
            EXPECT_EQ(std::memcmp(elsewhere.data(), sent.data(), sent.size()), 0) << range.size;
            ASSERT_EQ(lane().drain(), 0);
            // Read the bytes back into the memory of the pool as well.
            std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size,
                        std::byte{0});
            ASSERT_EQ(lane().read(memory.data() + range.offset, range.offset, range.size), 0);
            EXPECT_EQ(std::memcmp(memory.data() + range.offset, sent.data(), sent.size()), 0);
        }
}

// The memory of the pool has other bytes meanwhile, so those that become durable are the copies.
// Without lending, each is copied into a small buffer, so there are more frames.
TEST_P(FabricFrames, CopiesAreSentThatAreLentOrNot) {
    std::vector<std::byte> copies(pool_size);
    std::array<std::uint64_t, 2> frames{};
    for (const bool is_lent : {false, true}) {
        const std::uint64_t before = lane().last_sent();
        lane().lend_copies(is_lent ? std::span(copies) : std::span<std::byte>());
        fill({page, pool_size - page});
        std::ranges::copy(memory, copies.begin());
        fill({page, pool_size - page});
        const CopiedRange range{std::span(copies).subspan(page), page};
        ASSERT_EQ(lane().persist_copies({&range, 1}), 0) << lane().violation();
        frames[is_lent ? 1 : 0] = lane().last_sent() - before;
        std::ranges::copy(copies, memory.begin());
        EXPECT_TRUE(is_durable({page, pool_size - page}, false)) << is_lent;
    }
    lane().lend_copies({});
    EXPECT_LT(frames[1], frames[0]);
}

// The pool has one block.
TEST_P(FabricFrames, DigestsSeeWhatWasFlushedBefore) {
    for (const bool relaxed : {false, true})
        for (const Range& range : sample_ranges) {
            fill(range);
            ASSERT_EQ(lane().persist(0, pool_size, false), 0);
            fill(range);
            ASSERT_EQ(lane().flush(range.offset, range.size, relaxed), 0);
            std::array<wire::BlockDigest, 1> theirs{};
            ASSERT_EQ(lane().digests(theirs, 0, pool_size), 0) << lane().violation();
            std::array<wire::BlockDigest, 1> ours{};
            wire::digest_blocks(memory, ours);
            EXPECT_EQ(theirs, ours) << range.size << (relaxed ? " relaxed" : " strict");
            ASSERT_EQ(lane().drain(), 0);
        }
}

TEST_P(FabricFrames, AnyMixtureOfCallsComesToAnEnd) {
    Recorder::instance().delay(std::chrono::milliseconds(0));
    Numbers next;
    fill({0, pool_size});
    ASSERT_EQ(lane(0).persist(0, pool_size, false), 0);
    for (int step = 0; step < 200; ++step) {
        // Each lane uses one half, because the application must order overlapping ranges on two
        // lanes.
        const auto index = static_cast<unsigned>(next(2));
        const std::size_t size = 1 + next(next(2) == 0 ? 100 : 9000);
        const Range range{index * pool_size / 2 + next(pool_size / 2 - size), size};
        const bool relaxed = next(2) == 0;
        fill(range);
        switch (next(4)) {
        case 0:
            ASSERT_EQ(lane(index).persist(range.offset, range.size, relaxed), 0);
            ASSERT_TRUE(is_durable(range, relaxed)) << step;
            break;
        case 1: {
            ASSERT_EQ(lane(index).flush(range.offset, range.size, relaxed), 0);
            std::vector<std::byte> bytes(size);
            ASSERT_EQ(lane(index).read(bytes.data(), range.offset, size), 0);
            EXPECT_EQ(std::memcmp(bytes.data(), memory.data() + range.offset, size), 0) << step;
            break;
        }
        default:
            ASSERT_EQ(lane(index).flush(range.offset, range.size, relaxed), 0);
        }
    }
    ASSERT_EQ(lane(0).drain(), 0);
    ASSERT_EQ(lane(1).drain(), 0);
    EXPECT_TRUE(is_there({0, pool_size}));
}

TEST_P(FabricFrames, AnErrorOfTheMediumIsNoAck) {
    if (GetParam().method == PersistMethod::appliance)
        GTEST_SKIP() << "the target's processor is not involved";
    Recorder::instance().fail(
        {.call = GetParam().shares[0].is_pmem ? "pmem2_deep_flush" : "pmem_msync",
         .path = "",
         .number = 0,
         .code = EIO});
    fill({page, 64});
    EXPECT_NE(lane().deep_persist(page, 64), 0);
    EXPECT_TRUE(test::contains(lane().violation(), "part pool"));
    EXPECT_NE(lane().persist(0, 8, false), 0);
    EXPECT_TRUE(
        value_of(wait_readable(served.server->failure_fd(), Deadline(test::fabric_timeout))));
    EXPECT_NE(served.server->failure(), "");
}

TEST_P(FabricFrames, AnAlarmEndsAWaitingCall) {
    Recorder::instance().delay(std::chrono::seconds(2)); // the target is busy
    watch.raise();
    EXPECT_EQ(lane().deep_persist(0, 64), ECONNRESET);
    Recorder::instance().delay(std::chrono::milliseconds(0));
}

// If a target has several addresses, the first lane divides its time among them. The other lanes
// use the address that has worked, and have the whole time for it.
TEST(FabricLanesTime, IsTheWholeOfItForLaterLanes) {
    ServedSession served(one_file, PoolAccess::direct, 2);
    std::vector<std::byte> memory(pool_size);
    const Event watch = value_of(Event::make());
    Settings settings = fabric_settings();
    settings.connect_timeout = std::chrono::milliseconds(2321);
    const auto lanes = value_of(FabricLanes::open(
        request_for(*served.server, memory, PersistMethod::general_purpose, watch.fd()), settings,
        test::fabric_timeout));
    served.sleep(true);
    EXPECT_TRUE(test::failed(lanes->use_lane(1, settings.connect_timeout), ETIMEDOUT, "2321 ms"));
    served.sleep(false);
    // The lane can be connected later.
    ASSERT_TRUE(ServedSession::succeeds_in_time(
        [&] { return lanes->use_lane(1, test::fabric_timeout).has_value(); }));
    EXPECT_EQ(lanes->lane(1)->persist(page, 64, false), 0);
    EXPECT_TRUE(served.pool.is_untouched_but(page, 64));
}

} // namespace
} // namespace rpmem::target::fabric_frames
