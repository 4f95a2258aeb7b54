// SPDX-License-Identifier: BSD-3-Clause
// Tests rpmem_replica_state() and rpmem_wait_in_sync() with a real sshd, and with daemons that are
// killed and started again. Each test fails if a state, its time, its reason or a number is not
// that of the replica, if a wait does not end within a second of what it waits for, or if it ends
// without that. A wait must not let a pool fail that still can be used.
#include "tests/integration/alone_pool.hpp"

#include <atomic>
#include <chrono>
#include <climits>
#include <ctime>
#include <optional>
#include <string>

namespace rpmem::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t block_size = std::size_t{64} * 1024;
constexpr int minute = 60000;

rpmem_replica_state_info state_of(RPMEMpool* pool) {
    rpmem_replica_state_info info{};
    info.version = RPMEM_REPLICA_STATE_VERSION;
    EXPECT_TRUE(succeeded(rpmem_replica_state(pool, &info)));
    return info;
}

class InSyncTest : public AwayTest {
protected:
    // Waits up to 30 s until STATE is reported.
    static testing::AssertionResult gets(RPMEMpool* pool, rpmem_sync_state state) {
        rpmem_replica_state_info last{};
        for (const auto end = Clock::now() + seconds(30); Clock::now() < end;) {
            last = state_of(pool);
            if (last.state == state)
                return testing::AssertionSuccess();
            std::this_thread::sleep_for(milliseconds(2));
        }
        return testing::AssertionFailure() << "state " << last.state << ": " << last.reason;
    }
    static void expect_in_sync(RPMEMpool* pool) {
        const rpmem_replica_state_info info = state_of(pool);
        EXPECT_EQ(info.state, static_cast<unsigned>(RPMEM_REPLICA_IN_SYNC));
        EXPECT_EQ(info.behind_bytes, 0U);
        EXPECT_EQ(info.catch_up_rate, 0U);
        EXPECT_STREQ(info.reason, "");
    }
    static void expect_timeout(RPMEMpool* pool, int timeout, const char* words,
                               milliseconds slack = milliseconds(900)) {
        const auto began = Clock::now();
        EXPECT_TRUE(failed(rpmem_wait_in_sync(pool, timeout), ETIMEDOUT, words));
        const auto took = Clock::now() - began;
        EXPECT_GE(took, milliseconds(timeout));
        EXPECT_LT(took, milliseconds(timeout) + slack);
    }
};

// Waits in another thread.
class SyncWait {
public:
    SyncWait(RPMEMpool* pool, int timeout)
        : waiter_([this, pool, timeout] {
              status_ = rpmem_wait_in_sync(pool, timeout);
              code_ = status_ == 0 ? 0 : errno;
              ended_ = Clock::now();
              is_over_ = true;
          }) {
        waiter_.expect_asleep();
        EXPECT_FALSE(is_over_) << "the wait does not wait";
    }
    // Expects the wait to end with CODE at most a second after EVENT, which has been seen.
    void expect_end(int code, Clock::time_point event) const {
        for (int i = 0; i < 500 && !is_over_; ++i)
            std::this_thread::sleep_for(milliseconds(10));
        ASSERT_TRUE(is_over_) << "nothing wakes the wait";
        EXPECT_EQ(code_, code);
        EXPECT_EQ(status_, code == 0 ? 0 : -1);
        EXPECT_LT(ended_ - event, seconds(1));
    }

private:
    std::atomic<bool> is_over_ = false;
    int status_ = 1;
    int code_ = 0;
    Clock::time_point ended_{};
    Waiter waiter_; // last: its thread uses the members above
};

// RPMEM_ON_LOSS=alone, with an RPMEM_RECONNECT_TIMEOUT of 300 ms. With an RPMEM_CATCH_UP_RATE of
// 1.5 MB/s, 8 MiB take 5.6 s.
class InSyncAlone : public InSyncTest {};

TEST_F(InSyncAlone, TheStateFollowsTheReplica) {
    const auto before = static_cast<std::uint64_t>(std::time(nullptr));
    RPMEMpool* const pool = filled();
    expect_in_sync(pool);
    EXPECT_EQ(rpmem_wait_in_sync(pool, 0), 0);
    EXPECT_GE(state_of(pool).since, before);
    EXPECT_LE(state_of(pool).since, static_cast<std::uint64_t>(std::time(nullptr)));
    std::this_thread::sleep_for(milliseconds(1100)); // the next state begins in a later second
    take_away();
    local.fill(2);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, 8, 0, 0)));
    const rpmem_replica_state_info away = state_of(pool);
    EXPECT_EQ(away.state, static_cast<unsigned>(RPMEM_REPLICA_AWAY));
    EXPECT_EQ(away.behind_bytes, block_size);
    EXPECT_EQ(away.catch_up_rate, 0U);
    EXPECT_GT(away.since, before);
    EXPECT_TRUE(contains(away.reason, "closed for a while"));
    expect_timeout(pool, 300, "closed for a while");
    expect_timeout(pool, 0, "not in sync after 0 ms");
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_EQ(state_of(pool).behind_bytes, local.size());
    EXPECT_EQ(state_of(pool).since, away.since) << "it has been away all the time";

    const SyncWait wait(pool, minute);
    set_daemon("");
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_CATCHING_UP));
    std::this_thread::sleep_for(seconds(2));
    const rpmem_replica_state_info catching_up = state_of(pool);
    EXPECT_EQ(catching_up.state, static_cast<unsigned>(RPMEM_REPLICA_CATCHING_UP));
    EXPECT_LT(catching_up.behind_bytes, local.size());
    EXPECT_GT(catching_up.behind_bytes, 0U);
    EXPECT_GT(catching_up.catch_up_rate, 500000U);
    EXPECT_LT(catching_up.catch_up_rate, 3000000U);
    EXPECT_GE(catching_up.since, away.since);
    EXPECT_STRNE(catching_up.reason, "");
    expect_timeout(pool, 100, "not in sync");
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_IN_SYNC));
    const auto joined = Clock::now();
    wait.expect_end(0, joined);
    expect_in_sync(pool);
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_GT(state_of(pool).since, away.since);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The program changes 1 MiB all the time, and the target gets 1.5 MB/s.
TEST_F(InSyncAlone, TheReasonSaysThatTheProgramIsFaster) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, 8, 0, 0)));
    std::atomic<bool> is_over = false;
    std::thread writer([&] {
        for (std::size_t i = 0; !is_over; ++i)
            if (rpmem_persist(pool, mebibyte + i % 16 * block_size, 8, 0, 0) != 0)
                return;
    });
    set_daemon("");
    const auto is_outpaced = [&] {
        const rpmem_replica_state_info info = state_of(pool);
        return info.state == RPMEM_REPLICA_CATCHING_UP &&
               std::string_view(info.reason).starts_with("rate below writes");
    };
    for (int i = 0; i < 3000 && !is_outpaced(); ++i)
        std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(is_outpaced()) << state_of(pool).reason;
    EXPECT_TRUE(contains(state_of(pool).reason, "1500000 bytes/s"));
    is_over = true;
    writer.join();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_IN_SYNC));
    expect_in_sync(pool);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(InSyncAlone, AReplicaThatHasFailedEndsTheWait) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 2 * mebibyte, 100, 0, 0)));
    fs::resize_file(directory() / "local", 2 * mebibyte);
    const SyncWait wait(pool, minute);
    set_daemon("");
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_FAILED));
    wait.expect_end(EFAULT, Clock::now());
    EXPECT_TRUE(failed(rpmem_wait_in_sync(pool, minute), EFAULT, "2097152 of the pool"));
    EXPECT_TRUE(contains(state_of(pool).reason, "cannot be read by this process"));
    EXPECT_EQ(state_of(pool).behind_bytes, block_size);
    fs::resize_file(directory() / "local", local.size());
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_EQ(state_of(pool).state, static_cast<unsigned>(RPMEM_REPLICA_FAILED));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// No call on a lane sees it.
TEST_F(InSyncAlone, ANewerOwnerEndsTheWait) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    const SyncWait wait(pool, minute);
    fs::remove(directory() / "part0"); // the target came back with another part
    std::ofstream(directory() / "part0").close();
    fs::resize_file(directory() / "part0", local.size());
    fs::permissions(directory() / "part0", fs::perms::owner_read | fs::perms::owner_write);
    set_daemon("");
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_FAILED));
    wait.expect_end(ESTALE, Clock::now());
    EXPECT_TRUE(failed(rpmem_wait_in_sync(pool, 0), ESTALE));
    static_cast<void>(rpmem_close(pool));
}

// The target is connected, and its pool lacks what the session before has acknowledged alone.
TEST_F(InSyncAlone, CallsOfAnEarlierSessionCount) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(3);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, 100, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    set_daemon("");
    RPMEMpool* const again = opened(2);
    const rpmem_replica_state_info info = state_of(again);
    EXPECT_EQ(info.state, static_cast<unsigned>(RPMEM_REPLICA_CATCHING_UP));
    EXPECT_EQ(info.behind_bytes, local.size()) << "nobody knows yet what differs";
    EXPECT_TRUE(contains(info.reason, "the first call that writes"));
    expect_timeout(again, 50, "not in sync");
    const SyncWait wait(again, minute);
    EXPECT_TRUE(succeeded(rpmem_persist(again, 8192, 8, 1, 0)));
    EXPECT_NE(state_of(again).state, static_cast<unsigned>(RPMEM_REPLICA_IN_SYNC));
    ASSERT_TRUE(gets(again, RPMEM_REPLICA_IN_SYNC));
    wait.expect_end(0, Clock::now());
    expect_in_sync(again);
    expect_replicated(mebibyte, 100);
    EXPECT_TRUE(succeeded(rpmem_close(again)));
}

// The record of the target follows the join, and a close must not overtake it.
TEST_F(InSyncAlone, ACloseRightAfterTheWaitIsOrderly) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    set_daemon("");
    EXPECT_TRUE(succeeded(rpmem_wait_in_sync(pool, minute)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    RPMEMpool* const again = opened();
    expect_in_sync(again);
    EXPECT_TRUE(succeeded(rpmem_close(again)));
    EXPECT_FALSE(contains(library_log(), "the replica may be behind"));
}

// RPMEM_ON_LOSS=alone, with an RPMEM_RECONNECT_TIMEOUT of 0, so that only the thread reconnects. No
// call on a lane starts it.
class InSyncAloneAtOnce : public InSyncTest {};

TEST_F(InSyncAloneAtOnce, AWaitStartsTheCatchUp) {
    RPMEMpool* const pool = filled();
    take_away();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_AWAY));
    expect_timeout(pool, 200, "not in sync");
    const SyncWait wait(pool, minute);
    set_daemon("");
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_IN_SYNC));
    wait.expect_end(0, Clock::now());
    local.fill(7);
    expect_served(pool);
}

// RPMEM_ON_LOSS=fail, with an RPMEM_RECONNECT_TIMEOUT of 20 s.
class InSync : public InSyncTest {};

TEST_F(InSync, TheStateKnowsOfALossBeforeACall) {
    RPMEMpool* const pool = filled();
    expect_in_sync(pool);
    take_away();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_AWAY));
    EXPECT_STRNE(state_of(pool).reason, "");
    EXPECT_EQ(state_of(pool).behind_bytes, 0U) << "no call has returned 0 without the target";
    expect_timeout(pool, 300, "not in sync after 300 ms");
    set_daemon("");
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    expect_in_sync(pool);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// Nobody else would replace the session of a program that makes no calls.
TEST_F(InSync, AWaitReplacesALostSession) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_AWAY)); // sshd closes the connection later
    EXPECT_EQ(rpmem_wait_in_sync(pool, minute), 0) << rpmem_errormsg();
    expect_in_sync(pool);
    rpmem_pool_stats stats{};
    stats.version = RPMEM_STATS_VERSION;
    EXPECT_TRUE(succeeded(rpmem_stats(pool, &stats)));
    EXPECT_EQ(stats.reconnects, 1U);
    local.fill(4);
    expect_served(pool);
}

TEST_F(InSync, AWaitThatTimesOutLeavesThePoolUsable) {
    RPMEMpool* const pool = filled();
    take_away();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_AWAY));
    expect_timeout(pool, 1500, "not in sync after 1500 ms", seconds(5)); // an attempt is abandoned
    expect_timeout(pool, 1500, "not in sync after 1500 ms", seconds(5));
    EXPECT_EQ(state_of(pool).state, static_cast<unsigned>(RPMEM_REPLICA_AWAY));
    EXPECT_FALSE(contains(library_log(), "rpmem_wait_in_sync")) << "a timeout is no failure";
    set_daemon("");
    local.fill(5);
    expect_served(pool);
}

// The call on the lane reconnects, and the wait has no part in it.
TEST_F(InSync, ACallThatReconnectsWakesTheWait) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(6);
    std::atomic<bool> has_returned = false;
    {
        Waiter call([&] {
            EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
            has_returned = true;
        });
        call.expect_asleep();
        ASSERT_TRUE(gets(pool, RPMEM_REPLICA_AWAY));
        const SyncWait wait(pool, minute);
        EXPECT_FALSE(has_returned);
        set_daemon("");
        ASSERT_TRUE(gets(pool, RPMEM_REPLICA_IN_SYNC));
        wait.expect_end(0, Clock::now());
    }
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// RPMEM_RECONNECT_TIMEOUT=1000.
class InSyncBriefly : public InSyncTest {};

// The wait reconnects, and would go on for a minute. A call that waits for it gives up after 1 s.
TEST_F(InSyncBriefly, ACallThatGivesUpEndsTheWait) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    const fs::path logins = directory() / "logins";
    set_command("echo closed >>" + logins.native() + "; exit 127");
    const SyncWait wait(pool, minute);
    for (int i = 0; i < 500 && !fs::exists(logins); ++i)
        std::this_thread::sleep_for(milliseconds(10));
    ASSERT_TRUE(fs::exists(logins)) << "the wait does not reconnect";
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ECONNRESET, "another call"));
    wait.expect_end(ECONNRESET, Clock::now());
    EXPECT_EQ(rpmem_close(pool), -1);
}

// RPMEM_RECONNECT_TIMEOUT=0: a lost session is final.
class InSyncWithoutReconnecting : public InSyncTest {};

TEST_F(InSyncWithoutReconnecting, ALostSessionHasFailed) {
    RPMEMpool* const pool = filled();
    EXPECT_EQ(rpmem_wait_in_sync(pool, INT_MAX), 0);
    kill_daemon();
    ASSERT_TRUE(gets(pool, RPMEM_REPLICA_FAILED));
    EXPECT_TRUE(failed(rpmem_wait_in_sync(pool, INT_MAX), ECONNRESET));
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ECONNRESET));
    EXPECT_EQ(state_of(pool).state, static_cast<unsigned>(RPMEM_REPLICA_FAILED));
    EXPECT_EQ(rpmem_close(pool), -1);
}

} // namespace
} // namespace rpmem::test
