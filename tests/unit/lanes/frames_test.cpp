// Both ends of a lane that carries frames, on a real socket: what a call of the initiator has
// returned for is durable at the target, as the recorder sees it, and what breaks the rules changes
// nothing.
#include "common/base/io.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "rpmemd/lanes/served_lane.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

namespace rpmem::target {
namespace {

using namespace initiator;

using test::Recorder;
using transport::FrameConnection;
using transport::SocketGroup;
using transport::SocketStream;
using wire::FrameHeader;
using wire::FrameType;

constexpr std::size_t page = 4096;
constexpr std::chrono::milliseconds patience(20000);
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size};

const std::vector<Share> one_pmem{{pool_size, true}};
const std::vector<Share> pmem_and_file{{pool_size / 2, true}, {pool_size / 2, false}};

struct Range {
    std::size_t offset;
    std::size_t size;
};

// The target's end: a pool, and a thread that serves the lane until it ends.
class Served {
public:
    Served(const std::vector<Share>& shares, UniqueFd socket, const wire::LaneTerms& own)
        : pool_(shares), stop_(std::move(*Event::make())),
          lane_(0,
                std::make_unique<FrameConnection>(std::make_unique<SocketStream>(std::move(socket)),
                                                  "lane 0"),
                own, pool_.begin(), pool_.medium()) {
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
    // After the thread has ended.
    [[nodiscard]] const std::string& problem() const { return lane_.problem(); }
    [[nodiscard]] GuardedPool& pool() { return pool_; }

private:
    void run() {
        while (lane_.serve()) {
            if (lane_.served_bytes() > 0) {
                group_.progressed();
                continue;
            }
            if (group_.wait(patience, stop_.fd()) != transport::WaitResult::look)
                return;
        }
        if (!lane_.problem().empty())
            lane_.say_why();
        lane_.connection().close();
    }

    GuardedPool pool_;
    Event stop_;
    SocketGroup group_{std::chrono::microseconds(0), std::size_t{16} * 1024};
    ServedLane lane_;
    std::thread thread_;
};

// Both ends, and the initiator's memory.
class Frames {
public:
    explicit Frames(const std::vector<Share>& shares = one_file, const wire::LaneTerms& own = terms)
        : Frames(std::move(*make_socket_pair()), shares, own) {}

    // The target has for good what the initiator has there.
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
                patience};
    }

    unsigned byte_ = 0;
};

const std::vector<Range> ranges = {{0, 8},
                                   {130, 13},
                                   {page - 3, 7},
                                   {3 * page + 53, 1024},
                                   {5, 3000},
                                   {pool_size / 2 - 600, 1500},
                                   {1, 3 * terms.credits.payload + 5},
                                   {0, pool_size},
                                   {pool_size - 1, 1}};

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
    Recorder::instance().delay(std::chrono::milliseconds(2)); // what does not wait comes before
    for (const Range& range : ranges) {
        SCOPED_TRACE(range.offset);
        frames.fill(range);
        ASSERT_EQ(frames.lane.persist(range.offset, range.size, false), 0)
            << frames.lane.complaint();
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
        for (const Range& range : ranges) {
            frames.fill(range);
            ASSERT_EQ(frames.lane.flush(range.offset, range.size, false), 0)
                << frames.lane.complaint();
            EXPECT_TRUE(frames.lane.owes());
        }
        ASSERT_EQ(frames.lane.drain(), 0);
        EXPECT_FALSE(frames.lane.owes());
        EXPECT_TRUE(frames.is_durable({0, pool_size}));
    }
    EXPECT_EQ(frames.lane.drain(), 0);
}

// flush(A), then persist(B): B may not be durable before A.
TEST_P(FramesOnMedia, TheOrderOfCallsIsTheOrderOfEffects) {
    Frames frames(GetParam().shares);
    for (const Range& earlier : ranges) {
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
    for (const Range& range : ranges) {
        std::vector<std::byte> bytes(range.size);
        ASSERT_EQ(frames.lane.read(bytes.data(), range.offset, range.size), 0)
            << frames.lane.complaint();
        EXPECT_EQ(std::memcmp(bytes.data(), pool + range.offset, range.size), 0) << range.offset;
    }
}

TEST(FramesLane, ReadSeesWhatWasFlushedBefore) {
    Frames frames;
    frames.fill({page, 100});
    ASSERT_EQ(frames.lane.flush(page, 100, false), 0);
    std::vector<std::byte> bytes(100);
    ASSERT_EQ(frames.lane.read(bytes.data(), page, 100), 0);
    EXPECT_EQ(std::memcmp(bytes.data(), frames.memory.data() + page, 100), 0);
}

// Any mixture of calls goes through credits that are soon used up, and comes to an end.
TEST(FramesLane, SmallCreditsHoldNothingUp) {
    Frames frames(one_file, {.credits = {.bytes = 64 * 1024, .payload = 8, .frames = 2, .reads = 1},
                             .pool_size = pool_size});
    unsigned random = 7;
    const auto next = [&random](std::size_t below) {
        random = random * 1103515245 + 12345;
        return (random >> 8) % below;
    };
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
            << frames.lane.complaint();
        if (persists) {
            ASSERT_TRUE(frames.is_durable(range)) << step;
        }
    }
    ASSERT_EQ(frames.lane.drain(), 0);
    const auto image = Recorder::instance().image(0, pool_size);
    for (std::size_t i = 0; i < pool_size; ++i)
        ASSERT_TRUE(image[i] == frames.memory[i] || frames.memory[i] == std::byte{0}) << i;
}

TEST(FramesLane, AnErrorOfTheMediumIsNoAck) {
    for (const bool deep : {false, true}) {
        Frames frames;
        Recorder::instance().fail({.call = "pmem_msync", .path = "", .number = 0, .code = EIO});
        frames.fill({page, 64});
        EXPECT_NE(deep ? frames.lane.deep_persist(page, 64) : frames.lane.persist(page, 64, false),
                  0);
        EXPECT_NE(frames.lane.complaint().find("part pool"), std::string::npos)
            << frames.lane.complaint();
        EXPECT_NE(frames.lane.persist(0, 8, false), 0);
        frames.target.stop();
        EXPECT_NE(frames.target.problem(), "");
    }
}

// A call that gives up must not leave anybody who writes to its memory.
TEST(FramesLane, AReadThatGivesUpLeavesItsMemoryAlone) {
    Frames frames;
    frames.target.stop(); // nobody answers
    frames.watch.raise();
    std::vector<std::byte> bytes(page, std::byte{0x77});
    EXPECT_EQ(frames.lane.read(bytes.data(), 0, page), ECONNRESET);
    EXPECT_EQ(bytes, std::vector<std::byte>(page, std::byte{0x77}));
    EXPECT_NE(frames.lane.persist(0, 8, false), 0);
}

// A peer that has shown who it is, and breaks the rules: the lane ends, and no byte has changed.
class BadPeer : public ::testing::Test {
protected:
    void expect_refused(const FrameHeader& header, const std::string& words,
                        std::size_t payload = 0, const wire::LaneTerms& own = terms) {
        auto pair = make_socket_pair();
        ASSERT_TRUE(pair);
        Served target(one_file, std::move(pair->theirs), own);
        const auto frame = wire::encode(header);
        std::vector<std::byte> bytes(frame.begin(), frame.end());
        bytes.resize(bytes.size() + payload, std::byte{0x11});
        const Deadline deadline(patience);
        ASSERT_TRUE(write_fully(pair->ours.get(), bytes, deadline));
        std::vector<std::byte> answer(4096);
        const auto got = read_fully(pair->ours.get(), answer, deadline); // until the end
        EXPECT_TRUE(got && *got < answer.size());
        target.stop();
        EXPECT_NE(target.problem().find(words), std::string::npos) << target.problem();
        EXPECT_TRUE(target.pool().is_untouched_but(0, 0));
    }
};

TEST_F(BadPeer, ChangesNothing) {
    constexpr std::uint64_t most = UINT64_MAX;
    expect_refused({.type = FrameType::write, .length = 64, .offset = pool_size, .number = 1},
                   "not within the pool", 64);
    expect_refused({.type = FrameType::write, .length = 64, .offset = most - 31, .number = 1},
                   "not within the pool", 64);
    expect_refused({.type = FrameType::write, .length = 64, .offset = most - 63, .number = 1},
                   "not within the pool", 64);
    expect_refused({.type = FrameType::read, .length = 64, .offset = most - 63, .number = 1},
                   "not within the pool");
    expect_refused({.type = FrameType::write, .length = UINT32_MAX, .offset = 0, .number = 1},
                   "are allowed", 64);
    expect_refused({.type = FrameType::write, .length = 64, .offset = 0, .number = 2},
                   "frame number 2", 64);
    expect_refused({.type = FrameType::persist, .length = 64, .offset = 0, .number = 1},
                   "cannot have written");
    expect_refused({.type = FrameType::ack, .number = 1}, "type 16");
    wire::LaneTerms reads = terms;
    reads.read_only = true;
    expect_refused({.type = FrameType::write, .length = 64, .offset = 0, .number = 1}, "read-only",
                   64, reads);
}

} // namespace
} // namespace rpmem::target
