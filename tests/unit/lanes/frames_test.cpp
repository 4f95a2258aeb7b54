// SPDX-License-Identifier: BSD-3-Clause
// Tests a lane that carries frames on a Unix socket pair, from the library's FrameLane to the
// daemon's ServedLane, on media of several kinds. The recorder of the medium keeps an image of what
// would survive a power failure. The test fails if a call returns before its range is durable, if a
// read returns other bytes, if small credits block a lane, or if a failed read does not end.
#include "common/base/io.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "rpmemd/lanes/served_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

#include <sys/socket.h>

namespace rpmem::target {
namespace {

using namespace initiator;

using test::Recorder;
using transport::FrameConnection;
using transport::SocketGroup;
using transport::SocketStream;
using wire::FrameHeader;
using wire::FrameType;

constexpr std::chrono::milliseconds test_timeout(20000);
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size};

// The target's end: a pool, and a thread that serves the lane until it ends.
class Served {
public:
    Served(const std::vector<Share>& shares, UniqueFd socket, const wire::LaneTerms& own)
        : pool_(shares), stop_(std::move(*Event::make())),
          lane_(0,
                std::make_unique<FrameConnection>(std::make_unique<SocketStream>(std::move(socket)),
                                                  "lane 0"),
                own, pool_.begin(), pool_.medium(), counters_) {
        Recorder::instance().reset();
        Recorder::instance().watch(pool_.begin(), pool_size);
        EXPECT_TRUE(group_.add(lane_.connection()));
        thread_ = std::thread([this] { run(); });
    }
    ~Served() {
        stop();
        Recorder::instance().reset();
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    void stop() {
        stop_.raise();
        if (thread_.joinable())
            thread_.join();
    }
    // Call it after the thread has ended.
    [[nodiscard]] const std::string& error_text() const { return lane_.error_text(); }
    [[nodiscard]] GuardedPool& pool() { return pool_; }

private:
    void run() {
        while (lane_.serve()) {
            if (lane_.served_bytes() > 0) {
                group_.progressed();
                continue;
            }
            if (group_.wait(test_timeout, stop_.fd()) != transport::WaitResult::look)
                return;
        }
        if (!lane_.error_text().empty())
            lane_.send_error();
        lane_.connection().close();
    }

    GuardedPool pool_;
    Event stop_;
    SocketGroup group_{std::chrono::microseconds(0), std::size_t{16} * 1024};
    WorkerCounters counters_;
    ServedLane lane_;
    std::thread thread_;
};

// Both ends of a lane, and the memory of the initiator.
class Frames {
public:
    explicit Frames(const std::vector<Share>& shares = one_file, const wire::LaneTerms& own = terms)
        : Frames(std::move(*make_socket_pair()), shares, own) {}

    // Returns whether RANGE of the initiator's memory is durable at the target.
    [[nodiscard]] bool is_durable(const Range& range) const {
        const auto image = Recorder::instance().image(range.offset, range.size);
        return std::memcmp(image.data(), memory.data() + range.offset, range.size) == 0;
    }
    void fill(const Range& range) {
        for (std::size_t i = 0; i < range.size; ++i)
            memory[range.offset + i] = static_cast<std::byte>(++byte_);
    }

    std::vector<std::byte> memory = std::vector<std::byte>(pool_size);
    Event watch = std::move(*Event::make());
    Served target;
    FrameLane lane;

private:
    Frames(SocketPair pair, const std::vector<Share>& shares, const wire::LaneTerms& own)
        : target(shares, std::move(pair.theirs), own), lane(make_lane(std::move(pair.ours), own)) {}

    FrameLane make_lane(UniqueFd socket, const wire::LaneTerms& own) {
        auto connection = std::make_unique<FrameConnection>(
            std::make_unique<SocketStream>(std::move(socket)), "lane 0 to the target");
        auto group = std::make_unique<SocketGroup>(std::chrono::microseconds(0), 8192);
        EXPECT_TRUE(group->add(*connection));
        return {std::move(connection),
                std::move(group),
                own,
                memory.data(),
                {watch.fd(), [] { return true; }},
                test_timeout};
    }

    unsigned byte_ = 0;
};

struct Medium {
    const char* name;
    const std::vector<Share>& shares;
};
class FramesOnMedia : public ::testing::TestWithParam<Medium> {};

INSTANTIATE_TEST_SUITE_P(, FramesOnMedia,
                         ::testing::Values(Medium{"File", one_file}, Medium{"Pmem", one_pmem},
                                           Medium{"Both", pmem_and_file}),
                         [](const auto& medium) { return std::string(medium.param.name); });

TEST_P(FramesOnMedia, WhatPersistReturnsForIsDurable) {
    Frames frames(GetParam().shares);
    Recorder::instance().delay(std::chrono::milliseconds(2)); // an early ack becomes visible
    for (const Range& range : sample_ranges) {
        SCOPED_TRACE(range.offset);
        frames.fill(range);
        ASSERT_EQ(frames.lane.persist(range.offset, range.size, false), 0)
            << frames.lane.violation();
        EXPECT_TRUE(frames.is_durable(range));
        frames.fill(range);
        ASSERT_EQ(frames.lane.deep_persist(range.offset, range.size), 0);
        EXPECT_TRUE(frames.is_durable(range));
    }
}

TEST_P(FramesOnMedia, DrainIsForAllThatWasFlushed) {
    Frames frames(GetParam().shares);
    Recorder::instance().delay(std::chrono::milliseconds(2));
    for (int round = 0; round < 3; ++round) {
        for (const Range& range : sample_ranges) {
            frames.fill(range);
            ASSERT_EQ(frames.lane.flush(range.offset, range.size, false), 0)
                << frames.lane.violation();
            EXPECT_TRUE(frames.lane.has_unacknowledged());
        }
        ASSERT_EQ(frames.lane.drain(), 0);
        EXPECT_FALSE(frames.lane.has_unacknowledged());
        EXPECT_TRUE(frames.is_durable({0, pool_size}));
    }
    EXPECT_EQ(frames.lane.drain(), 0);
}

// After flush(A) and persist(B), both ranges are durable when persist() returns.
TEST_P(FramesOnMedia, TheOrderOfCallsIsTheOrderOfEffects) {
    Frames frames(GetParam().shares);
    for (const Range& earlier : sample_ranges) {
        const Range later{8 * page, 64};
        frames.fill(earlier);
        ASSERT_EQ(frames.lane.flush(earlier.offset, earlier.size, false), 0);
        frames.fill(later);
        ASSERT_EQ(frames.lane.persist(later.offset, later.size, false), 0);
        EXPECT_TRUE(frames.is_durable(earlier) && frames.is_durable(later)) << earlier.offset;
    }
}

TEST(FramesLane, DeepPersistAsksTheDevice) {
    Frames frames(one_pmem);
    frames.fill({page, 64});
    ASSERT_EQ(frames.lane.deep_persist(page, 64), 0);
    EXPECT_EQ(Recorder::instance().count("pmem2_deep_flush"), 1U);
}

TEST(FramesLane, ReadBringsTheTargetsBytes) {
    Frames frames;
    std::byte* const pool = frames.target.pool().begin();
    for (std::size_t i = 0; i < pool_size; ++i)
        pool[i] = static_cast<std::byte>(i * 13 + i / 255);
    for (const Range& range : sample_ranges) {
        std::vector<std::byte> bytes(range.size);
        ASSERT_EQ(frames.lane.read(bytes.data(), range.offset, range.size), 0)
            << frames.lane.violation();
        EXPECT_EQ(std::memcmp(bytes.data(), pool + range.offset, range.size), 0) << range.offset;
    }
}

// A random mixture of calls uses up the credits again and again, and must not block.
TEST(FramesLane, SmallCreditsHoldNothingUp) {
    Frames frames(one_file, {.credits = {.bytes = 64 * 1024, .payload = 8, .frames = 2, .reads = 1},
                             .pool_size = pool_size});
    Numbers next;
    for (int step = 0; step < 1500; ++step) {
        const Range range{next(pool_size - 100), 1 + next(100)};
        if (next(4) == 0) {
            std::vector<std::byte> bytes(range.size);
            ASSERT_EQ(frames.lane.read(bytes.data(), range.offset, range.size), 0);
            continue;
        }
        frames.fill(range);
        const bool persists = next(2) == 0;
        ASSERT_EQ(persists ? frames.lane.persist(range.offset, range.size, false)
                           : frames.lane.flush(range.offset, range.size, false),
                  0)
            << frames.lane.violation();
        if (persists) {
            ASSERT_TRUE(frames.is_durable(range)) << step;
        }
    }
    ASSERT_EQ(frames.lane.drain(), 0);
    const auto image = Recorder::instance().image(0, pool_size);
    for (std::size_t i = 0; i < pool_size; ++i)
        ASSERT_TRUE(image[i] == frames.memory[i] || frames.memory[i] == std::byte{0}) << i;
}

// The memory belongs to the caller again after a failed read, so the lane must be unusable.
TEST(FramesLane, AReadThatGivesUpLeavesItsMemoryAlone) {
    Frames frames;
    frames.target.stop(); // the read gets no answer
    frames.watch.raise();
    std::vector<std::byte> bytes(page, std::byte{0x77});
    EXPECT_EQ(frames.lane.read(bytes.data(), 0, page), ECONNRESET);
    EXPECT_EQ(bytes, std::vector<std::byte>(page, std::byte{0x77}));
    EXPECT_NE(frames.lane.persist(0, 8, false), 0);
}

} // namespace
} // namespace rpmem::target
