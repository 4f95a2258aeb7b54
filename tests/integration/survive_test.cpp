// SPDX-License-Identifier: BSD-3-Clause
// Tests that a lost session is only a slow call: the real daemon is killed before each kind of
// call, and the library reconnects through sshd. A call that fails, a flushed range that is not
// replayed, a byte that is sent without having been flushed, or wrong statistics make a test fail.
#include "tests/integration/environment.hpp"

#include <sys/resource.h>

#include <array>
#include <functional>
#include <thread>

namespace rpmem::test {
namespace {

constexpr std::size_t range_begin = 8192; // after the header
constexpr std::size_t range_size = 3000;

class Survives : public PoolTest {
protected:
    // Returns when the killed daemon has released the pool.
    void kill_daemon() const {
        const pid_t before = daemon_process();
        ASSERT_EQ(::kill(before, SIGKILL), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
    }
    // Expects all bytes of the application on the target.
    void expect_equal() const {
        EXPECT_EQ(std::memcmp(part(0).data() + header_size, local.data() + header_size,
                              local.size() - header_size),
                  0);
    }
    // Creates a pool with LANES lanes, all connected, and persists all of it.
    RPMEMpool* filled(unsigned lanes) {
        RPMEMpool* const pool = created(lanes);
        for (unsigned lane = 0; lane < lanes; ++lane)
            EXPECT_TRUE(
                succeeded(rpmem_persist(pool, header_size, local.size() - header_size, lane, 0)));
        return pool;
    }
};

struct Operation {
    const char* name;
    std::function<int(RPMEMpool*, LocalPool&)> run;
};

std::vector<Operation> operations() {
    return {
        {"persist",
         [](auto* pool, auto&) { return rpmem_persist(pool, range_begin, range_size, 0, 0); }},
        {"persist, relaxed",
         [](auto* pool, auto&) {
             return rpmem_persist(pool, range_begin, range_size, 0, RPMEM_PERSIST_RELAXED);
         }},
        {"persist of all",
         [](auto* pool, auto& local) {
             return rpmem_persist(pool, header_size, local.size() - header_size, 0, 0);
         }},
        {"deep persist",
         [](auto* pool, auto&) { return rpmem_deep_persist(pool, range_begin, range_size, 0); }},
        {"flush and drain",
         [](auto* pool, auto&) {
             const int flushed = rpmem_flush(pool, range_begin, range_size, 0, 0);
             return flushed ? flushed : rpmem_drain(pool, 0, 0);
         }},
        {"read",
         [](auto* pool, auto&) {
             std::vector<std::byte> seen(range_size);
             return rpmem_read(pool, seen.data(), range_begin, range_size, 0);
         }},
        {"set_attr",
         [](auto* pool, auto&) {
             const rpmem_pool_attr attributes = sample_attributes();
             return rpmem_set_attr(pool, &attributes);
         }},
    };
}

TEST_F(Survives, EachCallAfterTheDaemonWasKilled) {
    RPMEMpool* const pool = filled(2);
    std::uint64_t seed = 2;
    for (const Operation& operation : operations()) {
        SCOPED_TRACE(operation.name);
        std::memset(local.data() + range_begin, static_cast<int>(seed), range_size);
        ASSERT_TRUE(succeeded(rpmem_persist(pool, range_begin, range_size, 1, 0)));
        kill_daemon();
        const pid_t before = daemon_process();
        EXPECT_TRUE(succeeded(operation.run(pool, local)));
        EXPECT_NE(daemon_process(), before);
        ++seed;
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_equal();
}

TEST_F(Survives, CloseAfterTheDaemonWasKilled) {
    RPMEMpool* const pool = filled(2);
    kill_daemon();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_equal();
}

// Each lane replays exactly its own ranges. Bytes that the application changed beside them must not
// be sent.
TEST_F(Survives, WhatWasFlushedIsRepeatedAndNothingElse) {
    RPMEMpool* const pool = filled(3);
    const std::vector<std::byte> before = part(0);
    stop_daemon(); // it receives nothing more
    local.fill(7);
    const struct {
        unsigned lane;
        std::size_t offset;
        std::size_t length;
    } flushed[] = {{0, range_begin, 100},
                   {1, range_begin + 101, 4099},
                   {0, range_begin + 300000, 1},
                   {1, range_begin + 7000, 64}};
    for (const auto& one : flushed)
        ASSERT_TRUE(succeeded(rpmem_flush(pool, one.offset, one.length, one.lane, 0)));
    kill_daemon();
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 2, 0)));      // this lane has nothing to replay
    EXPECT_EQ(part(0)[range_begin], before[range_begin]); // the others replay later
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 1, 0)));
    std::vector<std::byte> expected = before;
    for (const auto& one : flushed)
        std::memcpy(expected.data() + one.offset, local.data() + one.offset, one.length);
    const std::vector<std::byte> seen = part(0);
    EXPECT_EQ(std::memcmp(seen.data() + header_size, expected.data() + header_size,
                          seen.size() - header_size),
              0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Survives, StatisticsTellOfIt) {
    RPMEMpool* const pool = filled(2);
    struct rpmem_pool_stats before {};
    EXPECT_TRUE(failed(rpmem_stats(pool, &before), EINVAL)); // no version
    before.version = RPMEM_STATS_VERSION;
    ASSERT_TRUE(succeeded(rpmem_stats(pool, &before)));
    EXPECT_EQ(before.state, RPMEM_LINK_CONNECTED);
    EXPECT_EQ(before.lanes, 2);
    EXPECT_EQ(before.persist.calls, 2);
    EXPECT_EQ(before.persist.bytes, 2 * (local.size() - header_size));
    EXPECT_GT(before.persist.longest_ns, 0);
    EXPECT_GE(before.persist.total_ns, before.persist.p50_ns);
    stop_daemon();
    ASSERT_TRUE(succeeded(rpmem_flush(pool, range_begin, 100, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_flush(pool, range_begin + 500, 100, 1, 0)));
    kill_daemon();
    struct rpmem_pool_stats lost = before;
    ASSERT_TRUE(succeeded(rpmem_stats(pool, &lost)));
    EXPECT_EQ(lost.unconfirmed_bytes, 200);
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    struct rpmem_pool_stats after = before;
    ASSERT_TRUE(succeeded(rpmem_stats(pool, &after)));
    EXPECT_EQ(after.generation, 1);
    EXPECT_EQ(after.reconnects, 1);
    EXPECT_EQ(after.replayed_bytes, 100); // the other lane has not replayed yet
    EXPECT_EQ(after.unconfirmed_bytes, 100);
    EXPECT_EQ(after.flush.calls, 2);
    EXPECT_EQ(after.drain.calls, 1);
    EXPECT_EQ(after.persist.calls, before.persist.calls);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// persist, deep_persist and drain confirm all earlier flushes of their lane. A read confirms
// nothing.
TEST_F(Survives, StatisticsTellWhatIsNotConfirmed) {
    RPMEMpool* const pool = filled(1);
    struct rpmem_pool_stats stats {};
    stats.version = RPMEM_STATS_VERSION;
    const auto unconfirmed = [&] {
        EXPECT_TRUE(succeeded(rpmem_stats(pool, &stats)));
        return stats.unconfirmed_bytes;
    };
    const auto flush = [&] { EXPECT_TRUE(succeeded(rpmem_flush(pool, range_begin, 100, 0, 0))); };
    std::array<char, 8> read{};
    flush();
    EXPECT_TRUE(succeeded(rpmem_read(pool, read.data(), range_begin, read.size(), 0)));
    EXPECT_EQ(unconfirmed(), 100);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, range_begin + 500, 8, 0, 0)));
    EXPECT_EQ(unconfirmed(), 0);
    flush();
    EXPECT_TRUE(succeeded(rpmem_deep_persist(pool, range_begin + 500, 8, 0)));
    EXPECT_EQ(unconfirmed(), 0);
    flush();
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    EXPECT_EQ(unconfirmed(), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// Lane 0 replaces the session. Then lane 1 lacks a descriptor for a second. Its call also recovers
// from the loss, so it tries again.
TEST_F(Survives, ALaneThatLacksADescriptorMeanwhile) {
    const int lowest = ::dup(0); // and all below it are in use
    ASSERT_GE(lowest, 0);
    RPMEMpool* const pool = filled(2);
    kill_daemon();
    local.fill(8);
    ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{static_cast<rlim_t>(lowest) + 1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    std::thread limit([&] { // no event ends the lack
        std::this_thread::sleep_for(std::chrono::seconds(1));
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    });
    EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size + 64, 64, 1, 0)));
    limit.join();
    ::close(lowest);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 128);
}

// A close makes ranges durable that were flushed and never drained.
TEST_F(Survives, CloseConfirmsWhatWasFlushed) {
    RPMEMpool* const pool = filled(2);
    stop_daemon();
    local.fill(9);
    ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size, 200000, 1, 0)));
    kill_daemon();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 200000);
}

TEST_F(Survives, TheDaemonIsKilledAgainAndAgain) {
    RPMEMpool* const pool = filled(1);
    for (int round = 0; round < 10; ++round) {
        local.fill(static_cast<std::uint64_t>(round) + 20);
        ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size, 100000, 0, 0)));
        kill_daemon();
        ASSERT_TRUE(succeeded(
            rpmem_persist(pool, header_size + 100000, local.size() - header_size - 100000, 0, 0)));
        expect_equal();
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// rpmem_remove() has its own login, which reports at once that the target is away.
TEST_F(Survives, APoolIsRemovedWhileACallWaits) {
    RPMEMpool* const pool = filled(1);
    set_command("exit 127");
    kill_daemon();
    Waiter waiter([&] {
        EXPECT_TRUE(succeeded(rpmem_persist(pool, range_begin, range_size, 0, 0)));
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
    });
    waiter.expect_asleep();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(failed(remove(), ECONNRESET, "127"));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    set_daemon("");
}

// A missing part may be on a file system that is not mounted yet, so the library retries. The text
// has both causes, and the pool stays failed.
TEST_F(Survives, APoolThatIsGoneIsNamedInTheEnd) {
    RPMEMpool* const pool = filled(1);
    kill_daemon();
    fs::remove(directory() / "part0");
    EXPECT_TRUE(
        failed(rpmem_persist(pool, range_begin, range_size, 0, 0), ECONNRESET, "does not exist"));
    EXPECT_TRUE(failed(rpmem_persist(pool, range_begin, range_size, 0, 0), ECONNRESET, "lost"));
    EXPECT_EQ(rpmem_close(pool), -1);
}

} // namespace
} // namespace rpmem::test
