// SPDX-License-Identifier: BSD-3-Clause
// Tests librpmem.hpp, the C++ interface, with real pools behind sshd: who owns the session and its
// lanes, how ranges become offsets, and how errors are returned. Two owners of one lane, a session
// that ends while a lane still exists, a range that is not checked, or a state that is not that of
// the replica makes a test fail.
#include "tests/integration/environment.hpp"

#include <librpmem.hpp>

namespace rpmem::test {
namespace {

static_assert(!std::is_copy_constructible_v<librpmem::Pool>);
static_assert(!std::is_copy_constructible_v<librpmem::Lane>);
static_assert(std::is_nothrow_move_constructible_v<librpmem::Pool>);
static_assert(std::is_nothrow_move_assignable_v<librpmem::Lane>);

class Cxx : public PoolTest {
protected:
    librpmem::Pool created(unsigned lanes) {
        const rpmem_pool_attr attributes = sample_attributes();
        return librpmem::Pool::create(target, "pool.set", memory, lanes, &attributes).value();
    }
    const std::span<std::byte> memory{local.data(), local.size()};
};

template <class T>
testing::AssertionResult refused(const librpmem::Expected<T>& result, int number,
                                 std::string_view words) {
    if (result)
        return testing::AssertionFailure() << "no error";
    if (result.error().number != number)
        return testing::AssertionFailure() << result.error().number << " is not " << number;
    return contains(result.error().text, words);
}

TEST_F(Cxx, EveryCallReachesTheTarget) {
    librpmem::Pool pool = created(2);
    EXPECT_EQ(pool.lanes(), 2U);
    librpmem::Lane lane = pool.lane().value();
    EXPECT_TRUE(lane.persist(memory.subspan(4096, 100)));
    EXPECT_TRUE(lane.persist(memory.subspan<8192, 64>(), librpmem::Words::relaxed));
    EXPECT_TRUE(lane.deep_persist(memory.subspan(12288, 100)));
    const std::span words(reinterpret_cast<const std::uint64_t*>(local.data() + 16384), 8);
    EXPECT_TRUE(lane.flush(words));
    EXPECT_TRUE(lane.flush(memory.last(32)));
    EXPECT_TRUE(lane.drain());
    for (const std::size_t offset : {4096U, 8192U, 12288U, 16384U})
        expect_replicated(offset, 64);
    expect_replicated(local.size() - 32, 32);
    std::array<std::uint64_t, 8> seen{};
    EXPECT_TRUE(lane.read(std::span(seen), 16384));
    EXPECT_TRUE(std::ranges::equal(seen, words));
    const rpmem_pool_stats stats = pool.statistics().value();
    EXPECT_EQ(stats.lanes, 2U);
    EXPECT_EQ(stats.persist.calls, 2U);
    rpmem_pool_attr attributes = librpmem::attributes("LONGER_THAN_8", 7);
    EXPECT_EQ(std::string_view(attributes.signature, 8), "LONGER_T");
    EXPECT_TRUE(pool.set_attributes(attributes));
}

TEST_F(Cxx, AnOpenedPoolTellsItsAttributes) {
    EXPECT_TRUE(created(1).close());
    rpmem_pool_attr seen{};
    EXPECT_TRUE(librpmem::Pool::open(target, "pool.set", memory, 1, &seen));
    EXPECT_EQ(seen.major, sample_attributes().major);
    EXPECT_TRUE(part_gets_unlocked(0)); // the temporary Pool was destroyed
    EXPECT_TRUE(librpmem::remove(target, "pool.set"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Cxx, NobodyElseHasALane) {
    librpmem::Pool pool = created(2);
    std::optional<librpmem::Lane> first = pool.lane().value();
    const librpmem::Lane second = pool.lane().value();
    EXPECT_NE(first->number(), second.number());
    EXPECT_TRUE(refused(pool.lane(), EAGAIN, "all 2 lanes"));
    EXPECT_TRUE(refused(pool.close(), EBUSY, "in use"));
    const unsigned number = first->number();
    librpmem::Lane moved = std::move(*first);
    first.reset(); // a moved-from lane releases nothing
    EXPECT_TRUE(refused(pool.lane(), EAGAIN, "all 2 lanes"));
    EXPECT_TRUE(moved.persist(memory.subspan(4096, 8)));
    { const librpmem::Lane ended = std::move(moved); }
    EXPECT_EQ(pool.lane().value().number(), number);
}

TEST_F(Cxx, AssigningToALaneGivesItBack) {
    librpmem::Pool pool = created(2);
    librpmem::Lane lane = pool.lane().value();
    lane = pool.lane().value();
    EXPECT_EQ(lane.number(), 1U);
    EXPECT_EQ(pool.lane().value().number(), 0U);
}

TEST_F(Cxx, TheSessionEndsWithTheLastLane) {
    std::optional<librpmem::Pool> pool = created(1);
    std::optional<librpmem::Lane> lane = pool->lane().value();
    pool.reset();
    EXPECT_TRUE(lane->persist(memory.subspan(8192, 100)));
    expect_replicated(8192, 100);
    EXPECT_TRUE(refused(librpmem::Pool::open(target, "pool.set", memory, 1), EBUSY, "in use"));
    lane.reset();
    EXPECT_TRUE(librpmem::Pool::open(target, "pool.set", memory, 1));
}

TEST_F(Cxx, RangesAreOfThePool) {
    librpmem::Pool pool = created(1);
    librpmem::Lane lane = pool.lane().value();
    std::array<std::byte, 64> other{};
    EXPECT_TRUE(refused(lane.persist(std::span(other)), EINVAL, "not in the memory"));
    EXPECT_TRUE(refused(lane.flush(std::span(other)), EINVAL, "not in the memory"));
    EXPECT_TRUE(refused(lane.deep_persist(std::span(other)), EINVAL, "not in the memory"));
    const std::span<std::byte> beyond(memory.data() + memory.size() - 8, 16);
    EXPECT_TRUE(refused(lane.persist(beyond), EINVAL, "within the pool"));
    EXPECT_TRUE(refused(lane.persist(memory.first(8)), EINVAL, "header"));
    EXPECT_TRUE(refused(lane.read(std::span(other), memory.size()), EINVAL, "within the pool"));
}

TEST_F(Cxx, WaitsHaveALimit) {
    const librpmem::Pool pool = created(1);
    using std::chrono::milliseconds;
    EXPECT_TRUE(pool.wait_in_sync(milliseconds(0)));
    EXPECT_TRUE(pool.wait_in_sync(milliseconds::max()));
    EXPECT_TRUE(refused(pool.wait_in_sync(milliseconds(-1)), EINVAL, "must be 0 to"));
    EXPECT_TRUE(refused(pool.wait_in_sync(milliseconds::min()), EINVAL, "must be 0 to"));
}

// With an RPMEM_RECONNECT_TIMEOUT of 20 s.
class CxxInSync : public Cxx {
protected:
    // Waits up to 30 s until the loss is found: sshd closes the connection after the daemon ended.
    // Nothing reports that to a program without calls, so it has to look again and again.
    static librpmem::ReplicaStatus once_away(const librpmem::Pool& pool) {
        librpmem::ReplicaStatus status = pool.replica_state().value();
        for (int i = 0; i < 3000 && status.state == librpmem::ReplicaState::in_sync; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            status = pool.replica_state().value();
        }
        return status;
    }
};

TEST_F(CxxInSync, TheStateIsThatOfTheReplica) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    const auto before = std::chrono::system_clock::now();
    const librpmem::Pool pool = created(1);
    const librpmem::ReplicaStatus first = pool.replica_state().value();
    EXPECT_EQ(first.state, librpmem::ReplicaState::in_sync);
    EXPECT_GT(first.since, before - seconds(2));
    EXPECT_LE(first.since, std::chrono::system_clock::now());
    EXPECT_EQ(first.behind_bytes, 0U);
    EXPECT_EQ(first.catch_up_rate, 0U);
    EXPECT_EQ(first.reason, "");
    set_command("exit 127");
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    const librpmem::ReplicaStatus away = once_away(pool);
    EXPECT_TRUE(refused(pool.wait_in_sync(milliseconds(200)), ETIMEDOUT, "not in sync"));
    EXPECT_EQ(away.state, librpmem::ReplicaState::away);
    EXPECT_GE(away.since, first.since);
    EXPECT_NE(away.reason, "");
    set_daemon("");
    EXPECT_TRUE(pool.wait_in_sync(seconds(60)));
    EXPECT_EQ(pool.replica_state().value().state, librpmem::ReplicaState::in_sync);
}

TEST_F(Cxx, FailuresAreValuesOrExceptions) {
    auto missing = librpmem::Pool::open(target, "missing.set", memory, 1);
    EXPECT_TRUE(refused(missing, ENOENT, "missing.set"));
    EXPECT_EQ(missing.error().code(), std::errc::no_such_file_or_directory);
    try {
        static_cast<void>(std::move(missing).value());
        FAIL() << "a pool from nothing";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), ENOENT);
        EXPECT_TRUE(contains(error.what(), "missing.set"));
    }
    EXPECT_TRUE(refused(librpmem::remove(target, "missing.set"), ENOENT, "missing.set"));
    EXPECT_TRUE(librpmem::check_version());
}

} // namespace
} // namespace rpmem::test
