// SPDX-License-Identifier: BSD-3-Clause
// Tests SET_REPLICA_STATE and POOL_STATE with the real daemon, also confined. The test fails if a
// session is told another state than the last one that was stored, if a state is lost with its
// daemon, or if a request that must be refused is granted or ends the session without need. It also
// fails if the first page of a pool that is catching up is in the part, if a client that cannot
// compare the pool may write to a pool that is catching up, if a claim without a lane counts as one
// that has written, or if a lane is accepted before its claim counts.
#include "tests/hostile/peer.hpp"

#include <ctime>

namespace rpmem::hostile {
namespace {

using wire::ReplicaState;
using wire::Status;

constexpr std::uint64_t not_comparing = wire::all_capabilities & ~wire::capability_compare;

class ReplicaStates : public HostileTest {
protected:
    ReplicaStates() { offer_ = wire::offer_value; }

    // Opens the pool as another initiator, expects that it is catching up or not, and closes it.
    void expect_state(bool catches_up) {
        Peer peer(directory_);
        peer.take_pool();
        ASSERT_TRUE(peer.control.pool_state());
        EXPECT_EQ(peer.control.pool_state()->catching_up_since != 0, catches_up);
        peer.expect_close();
    }
    // Leaves a pool that is catching up, with a daemon that was killed.
    void leave_catching_up() {
        Peer peer(directory_);
        peer.take_pool();
        EXPECT_EQ(peer.control.set_replica_state(ReplicaState::catching_up), Status::success);
        peer.daemon.signal(SIGKILL);
        peer.expect_killed();
    }
};

TEST_F(ReplicaStates, AreStoredWhenTheyAreConfirmed) {
    const std::int64_t before = std::time(nullptr);
    for (const bool is_confined : {false, true}) {
        const std::vector<std::string> more = {is_confined ? "--confine=auto" : "--confine=no"};
        std::uint64_t epoch = 0;
        {
            Peer peer(directory_, more);
            peer.take_pool();
            ASSERT_TRUE(peer.control.pool_state());
            epoch = peer.control.pool_state()->epoch;
            EXPECT_LT(peer.control.pool_state()->last_epoch, epoch);
            EXPECT_EQ(peer.control.pool_state()->catching_up_since, 0);
            RawLane lane = peer.lane();
            EXPECT_TRUE(lane.persist(8192, 64, std::byte{7}));
            EXPECT_EQ(peer.control.set_replica_state(ReplicaState::catching_up), Status::success);
            peer.daemon.signal(SIGKILL);
            peer.expect_killed();
        }
        Peer again(directory_, more);
        again.take_pool();
        ASSERT_TRUE(again.control.pool_state());
        EXPECT_EQ(again.control.pool_state()->last_epoch, epoch);
        EXPECT_EQ(again.control.pool_state()->epoch, epoch + 1);
        EXPECT_GE(again.control.pool_state()->catching_up_since, before);
        EXPECT_GE(again.control.pool_state()->behind_since, before);
        EXPECT_EQ(again.control.set_replica_state(ReplicaState::in_sync), Status::success);
        again.daemon.signal(SIGKILL);
        again.expect_killed();
        expect_state(false);
    }
}

// An initiator whose session ends before it has learnt of its claim has kept the claim before. The
// target must not require the later one of it.
TEST_F(ReplicaStates, ASessionWithoutALaneHasNotWritten) {
    for (const bool is_confined : {false, true}) {
        const std::vector<std::string> more = {is_confined ? "--confine=auto" : "--confine=no"};
        std::uint64_t last_epoch = 0;
        for (const bool has_lane : {true, false, true}) {
            Peer peer(directory_, more);
            peer.take_pool();
            ASSERT_TRUE(peer.control.pool_state());
            if (last_epoch != 0) {
                EXPECT_EQ(peer.control.pool_state()->last_epoch, last_epoch) << has_lane;
            }
            if (has_lane) {
                EXPECT_TRUE(peer.lane().persist(8192, 64, std::byte{7}));
                last_epoch = peer.control.pool_state()->epoch;
            }
            peer.daemon.signal(SIGKILL);
            peer.expect_killed();
        }
    }
}

// A daemon that loses power after a lane was connected must know that the claim may have written.
TEST_F(ReplicaStates, AClaimIsDurableBeforeItsFirstLaneIsAccepted) {
    const auto recording = directory_.path() / "recording";
    const std::vector<std::string> recorded = {"LD_PRELOAD=" RECORDER_PATH,
                                               "RPMEM_RECORDER_LOG=" + recording.string(),
                                               "ASAN_OPTIONS=verify_asan_link_order=0"};
    expect_state(false); // the first claim on a pool always counts
    Peer peer(directory_, {}, recorded);
    peer.take_pool();
    const std::size_t before = test::read_file(recording).size();
    const RawLane lane = peer.lane();
    const std::string calls = test::read_file(recording).substr(before);
    const auto written = calls.find("fsetxattr ");
    ASSERT_NE(written, std::string::npos) << calls;
    EXPECT_NE(calls.find("fsync ", written), std::string::npos) << calls;
    peer.expect_close();
    // The second write of the record is that of the first lane.
    auto failing = recorded;
    failing.emplace_back("RPMEM_RECORDER_FAULTS=fsetxattr:parts:2:28");
    Peer full(directory_, {}, failing);
    full.take_pool();
    EXPECT_THROW(full.lane(), std::runtime_error);
    full.expect_end("that this session writes to the pool cannot be stored");
    EXPECT_EQ(directory_.damage(), "");
}

// The daemon is killed in each state. A confined one opens no file.
TEST_F(ReplicaStates, CatchingUpHidesTheFirstPage) {
    const auto part = directory_.path() / "parts" / (std::string(existing_pool) + ".0");
    const std::string header = test::read_file(part).substr(0, 4096);
    for (const bool is_confined : {false, true}) {
        const std::vector<std::string> more = {is_confined ? "--confine=auto" : "--confine=no"};
        for (const ReplicaState state : {ReplicaState::catching_up, ReplicaState::in_sync}) {
            Peer peer(directory_, more);
            peer.take_pool();
            EXPECT_EQ(peer.control.set_replica_state(state), Status::success);
            peer.daemon.signal(SIGKILL);
            peer.expect_killed();
            EXPECT_EQ(test::read_file(part).substr(0, 4096),
                      state == ReplicaState::in_sync ? header : std::string(4096, '\0'));
        }
    }
}

TEST_F(ReplicaStates, OutliveClose) {
    Peer peer(directory_);
    peer.take_pool();
    EXPECT_EQ(peer.control.set_replica_state(ReplicaState::catching_up), Status::success);
    peer.expect_close();
    expect_state(true);
    expect_state(true);
}

TEST_F(ReplicaStates, BeforeAPoolThereIsNone) {
    for (const bool is_logged_in : {false, true}) {
        Peer peer(directory_);
        if (is_logged_in) {
            EXPECT_EQ(peer.control.log_in(), Status::success);
        }
        EXPECT_EQ(peer.control.set_replica_state(ReplicaState::in_sync), Status::bad_state);
        peer.expect_end("SET_REPLICA_STATE was sent before a pool was open");
    }
}

TEST_F(ReplicaStates, AnUnknownOneDoesNotEndTheSession) {
    Peer peer(directory_);
    peer.take_pool();
    for (const std::uint32_t state : {0U, 4U, 0x01000000U, 0xffffffffU})
        EXPECT_EQ(peer.control.set_replica_state(ReplicaState{state}), Status::bad_state) << state;
    EXPECT_EQ(peer.control.set_replica_state(ReplicaState::catching_up), Status::success);
    EXPECT_EQ(peer.control.set_replica_state(ReplicaState{4}), Status::bad_state);
    peer.expect_close();
    expect_state(true);
}

TEST_F(ReplicaStates, OfAReaderAreRefused) {
    leave_catching_up();
    Peer reader(directory_, {"--read-only"});
    reader.take_pool();
    EXPECT_FALSE(reader.control.pool_state());
    ASSERT_EQ(reader.control.notices().size(), 1U);
    EXPECT_TRUE(test::contains(reader.control.notices()[0], "it is catching up with user alice"));
    EXPECT_EQ(reader.control.set_replica_state(ReplicaState::in_sync), Status::no_access);
    reader.expect_close();
    expect_state(true);
}

TEST_F(ReplicaStates, NeedTheCapability) {
    Peer peer(directory_, {}, {}, not_comparing);
    peer.take_pool();
    EXPECT_FALSE(peer.control.pool_state());
    EXPECT_EQ(peer.control.set_replica_state(ReplicaState::catching_up), Status::bad_protocol);
    peer.expect_end("did not agree on comparing replicas");
    expect_state(false);
}

TEST_F(ReplicaStates, WhoCannotCompareMayNotWrite) {
    leave_catching_up();
    Peer older(directory_, {}, {}, not_comparing);
    EXPECT_EQ(older.control.log_in(), Status::success);
    EXPECT_EQ(older.control.open(), Status::stale);
    older.expect_end("it is catching up with user alice on host host-a (127.0.0.1) since 20");
    expect_state(true);
}

} // namespace
} // namespace rpmem::hostile
