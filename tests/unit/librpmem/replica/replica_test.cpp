// SPDX-License-Identifier: BSD-3-Clause
// Tests the marks of calls that go on without the replica, and the gate that a join closes. Threads
// store numbers and mark their blocks, while another thread copies marked blocks and joins, as
// CatchUp does. The test fails if a number that was stored before a mark is missing from the copy
// after the join, if a join waits for ever for a thread that was stopped, or if calls wait for ever
// for a join that does not end.
#include "librpmem/replica/replica.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace rpmem::initiator {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t block = wire::digest_block;
constexpr PoolRange nothing{0, 0};

std::vector<PoolRange> none;

TEST(Replica, InSyncCallsSend) {
    Replica replica(4 * block, 1);
    EXPECT_FALSE(replica.lacks_calls());
    EXPECT_FALSE(replica.mark(0, {0, 8}, none));
    EXPECT_EQ(replica.map().count(), 0U);
}

TEST(Replica, AwayMarksTheCallAndWhatTheLaneOwes) {
    Replica replica(8 * block, 1);
    replica.leave_to(ReplicaState::away);
    EXPECT_TRUE(replica.lacks_calls());
    std::vector<PoolRange> owed{{block - 1, 2}, {5 * block, 1}};
    EXPECT_TRUE(replica.mark(0, {3 * block + 7, 8}, owed));
    EXPECT_TRUE(owed.empty());
    std::vector<std::size_t> marked;
    for (std::size_t at = replica.map().next(0); at < 8; at = replica.map().next(at + 1))
        marked.push_back(at);
    EXPECT_EQ(marked, (std::vector<std::size_t>{0, 1, 3, 5}));
    EXPECT_TRUE(replica.mark(0, nothing, none)) << "a drain that owes nothing";
    EXPECT_EQ(replica.map().count(), 4U);
}

TEST(Replica, FailedAndStaleAreFinal) {
    for (const ReplicaState last : {ReplicaState::failed, ReplicaState::stale}) {
        Replica replica(4 * block, 1);
        replica.leave_to(ReplicaState::away);
        replica.leave_to(last);
        replica.leave_to(ReplicaState::away);
        EXPECT_EQ(replica.state(), last);
        EXPECT_EQ(replica.mark(0, {0, 8}, none), last == ReplicaState::failed)
            << "a stale pool fails by its link";
        EXPECT_FALSE(replica.close_gate(milliseconds(0)));
    }
}

TEST(Replica, PausedMarksAndDoesNotJoin) {
    Replica replica(4 * block, 1);
    replica.leave_to(ReplicaState::paused);
    EXPECT_TRUE(replica.lacks_calls());
    EXPECT_TRUE(replica.mark(0, {block, 8}, none));
    EXPECT_EQ(replica.map().next(0), 1U);
    EXPECT_FALSE(replica.change(ReplicaState::away, ReplicaState::catching_up))
        << "nothing is sent before it is resumed";
    EXPECT_FALSE(replica.close_gate(milliseconds(0)));
    EXPECT_TRUE(replica.change(ReplicaState::paused, ReplicaState::away));
    replica.leave_to(ReplicaState::failed);
    replica.leave_to(ReplicaState::paused);
    EXPECT_EQ(replica.state(), ReplicaState::failed);
}

// The operator may pause it at any moment of a join. The call must mark, because the join fails.
TEST(Replica, APauseEndsAJoin) {
    Replica replica(4 * block, 1);
    replica.leave_to(ReplicaState::away);
    replica.change(ReplicaState::away, ReplicaState::catching_up);
    ASSERT_TRUE(replica.close_gate(milliseconds(0)));
    replica.set_gate_time(std::chrono::seconds(100));
    std::thread operator_of_it([&] {
        std::this_thread::sleep_for(milliseconds(20));
        replica.leave_to(ReplicaState::paused);
    });
    EXPECT_TRUE(replica.mark(0, {0, 8}, none));
    operator_of_it.join();
    EXPECT_FALSE(replica.change(ReplicaState::joining, ReplicaState::in_sync));
}

TEST(Replica, OnlyAReplicaThatCatchesUpJoins) {
    Replica replica(4 * block, 1);
    EXPECT_FALSE(replica.close_gate(milliseconds(0)));
    replica.leave_to(ReplicaState::away);
    EXPECT_FALSE(replica.close_gate(milliseconds(0)));
    EXPECT_TRUE(replica.change(ReplicaState::away, ReplicaState::catching_up));
    EXPECT_TRUE(replica.close_gate(milliseconds(0)));
    EXPECT_TRUE(replica.change(ReplicaState::joining, ReplicaState::in_sync));
    EXPECT_FALSE(replica.lacks_calls());
}

// The join has sent what was marked before. The call must not return before it is known whether the
// replica has it.
TEST(Replica, ACallWaitsForTheJoin) {
    Replica replica(4 * block, 2);
    replica.leave_to(ReplicaState::away);
    replica.change(ReplicaState::away, ReplicaState::catching_up);
    ASSERT_TRUE(replica.close_gate(milliseconds(0)));
    std::atomic<bool> has_begun = false;
    std::atomic<bool> has_ended = false;
    bool was_marked = true;
    std::thread call([&] {
        std::vector<PoolRange> owed;
        has_begun = true;
        was_marked = replica.mark(1, {0, 8}, owed);
        has_ended = true;
    });
    while (!has_begun)
        std::this_thread::yield();
    // A wait raises no event. On a busy machine the call may begin late, and then this shows less.
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(has_ended);
    EXPECT_TRUE(replica.change(ReplicaState::joining, ReplicaState::in_sync));
    call.join();
    EXPECT_FALSE(was_marked);
    EXPECT_EQ(replica.map().count(), 0U);
}

TEST(Replica, AJoinThatTakesTooLongIsEndedByTheCall) {
    Replica replica(4 * block, 1);
    replica.leave_to(ReplicaState::away);
    replica.change(ReplicaState::away, ReplicaState::catching_up);
    ASSERT_TRUE(replica.close_gate(milliseconds(0)));
    const auto began = Clock::now();
    EXPECT_TRUE(replica.mark(0, {0, 8}, none));
    EXPECT_GE(Clock::now() - began, Replica::min_gate_time);
    EXPECT_EQ(replica.state(), ReplicaState::catching_up);
    EXPECT_FALSE(replica.change(ReplicaState::joining, ReplicaState::in_sync))
        << "the join must notice that its gate was opened";
}

TEST(Replica, CallsAreSlowedDownOnlyForCleanBlocks) {
    Replica replica(4 * block, 1);
    replica.leave_to(ReplicaState::away);
    replica.slow_down(std::chrono::microseconds(20000));
    auto began = Clock::now();
    EXPECT_TRUE(replica.mark(0, {0, 8}, none));
    EXPECT_GE(Clock::now() - began, milliseconds(20));
    replica.slow_down(std::chrono::seconds(1000));
    EXPECT_TRUE(replica.mark(0, {8, 8}, none)); // would not end
}

// Each thread stores rising numbers, and notes each one whose mark has returned. The copier is the
// catch-up: it clears a mark, and then copies.
TEST(Replica, NothingThatWasMarkedIsMissingAfterAJoin) {
    constexpr unsigned threads = 3;
    constexpr std::size_t blocks = 8;
    constexpr int rounds = 300;
    using Numbers = std::array<std::array<std::atomic<std::uint64_t>, threads>, blocks>;
    Replica replica(blocks * block, threads);
    Numbers memory{};
    Numbers marked{};
    std::array<std::array<std::uint64_t, threads>, blocks> copy{};
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> sent = 0;
    std::vector<std::thread> programs;
    for (unsigned own = 0; own < threads; ++own)
        programs.emplace_back([&, own] {
            std::vector<PoolRange> owed;
            for (std::uint64_t number = 1; !is_over; ++number) {
                const std::size_t at = (number * 7 + own) % blocks;
                memory[at][own] = number;
                bool is_marked = false;
                while (!is_marked && !is_over) {
                    is_marked = replica.mark(own, {at * block, 8}, owed);
                    sent += is_marked ? 0 : 1; // by its own lane; the replica leaves again soon
                }
                if (is_marked)
                    marked[at][own] = number;
            }
        });
    const auto send = [&] {
        BlockMap& map = replica.map();
        for (std::size_t at = map.next(0); at < blocks; at = map.next(at)) {
            map.clear(at);
            for (unsigned own = 0; own < threads; ++own)
                copy[at][own] = memory[at][own];
        }
    };
    unsigned joins = 0;
    replica.leave_to(ReplicaState::away);
    for (int round = 0; round < rounds; ++round) {
        ASSERT_TRUE(replica.change(ReplicaState::away, ReplicaState::catching_up));
        for (int pass = 0; pass < 1000 && !replica.close_gate(milliseconds(50)); ++pass)
            send();
        send();
        EXPECT_EQ(replica.map().count(), 0U) << "a mark passed the gate";
        for (std::size_t at = 0; at < blocks; ++at)
            for (unsigned own = 0; own < threads; ++own)
                EXPECT_GE(copy[at][own], marked[at][own].load()) << "a call returned 0";
        joins += replica.change(ReplicaState::joining, ReplicaState::in_sync) ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(100)); // some calls send
        replica.leave_to(ReplicaState::away);
    }
    is_over = true;
    for (std::thread& program : programs)
        program.join();
    EXPECT_GT(joins, static_cast<unsigned>(rounds) / 2);
    EXPECT_GT(sent, 0U);
}

} // namespace
} // namespace rpmem::initiator
