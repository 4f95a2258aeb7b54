// SPDX-License-Identifier: BSD-3-Clause
// Tests that the registry notices a program that writes to a pool and not to its record, such as
// rpmemd 1.12.1, by the time at which a part was modified and by the headers. The record is a real
// attribute or a real file of state-dir; the time is a number. The test fails if such a change is
// trusted, if it does not end the proof of the former initiator, if it is forgotten before the pool
// is equal, or if what this rpmemd does itself is taken for such a change.
#include "tests/unit/rpmemd/registry/registration_fixture.hpp"

namespace rpmem::target {
namespace {

using std::chrono::seconds;

class ChangedByOthersTest : public RegistrationTest {
protected:
    ChangedByOthersTest() { knows_states_ = true; }

    [[nodiscard]] PoolUse modified(int time) const {
        PoolUse use = use_;
        use.modified = seconds(time);
        return use;
    }
    // A session of WHO that writes and closes the pool. It finds the parts as of BEFORE, and leaves
    // them as of AFTER. Returns the epoch of its claim.
    std::uint64_t closed_session(unsigned char who, int before, int after) {
        expect_silent(attempt(who, 0, modified(before)));
        const std::uint64_t epoch = last_->pool_state().value().epoch;
        last_->closed(true, seconds(after));
        return epoch;
    }
    void expect_noticed(const Attempt& attempt) {
        EXPECT_TRUE(succeeded(attempt.took_up));
        ASSERT_EQ(attempt.notices.size(), 1U);
        EXPECT_TRUE(test::contains(attempt.notices[0], "another program, such as rpmemd 1.12.1"));
    }
};

TEST_P(ChangedByOthersTest, AChangeAfterTheCloseIsNeverTrusted) {
    const std::uint64_t epoch = closed_session(alice, 50, 100);
    for (const int time : {200, 99}) { // 99: somebody has restored a backup with its time
        const auto noticed = attempt(alice, 0, modified(time));
        expect_noticed(noticed);
        const auto state = last_->pool_state().value();
        EXPECT_EQ(state.behind_since, 100) << "the first write compares";
        EXPECT_GT(state.last_epoch, epoch) << "the record of this initiator proves nothing";
        EXPECT_GT(state.epoch, state.last_epoch);
        last_->closed(false, seconds(100));
    }
}

TEST_P(ChangedByOthersTest, ThePoolIsTrustedAgainAfterItWasMadeEqual) {
    closed_session(alice, 50, 100);
    expect_noticed(attempt(alice, 0, modified(200)));
    ASSERT_TRUE(succeeded(last_->set_replica_state(ReplicaState::in_sync)));
    last_->closed(true, seconds(300));
    closed_session(alice, 300, 400);
    expect_silent(attempt(alice, 0, modified(400)));
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
}

// The session that has noticed the change may end before its first write.
TEST_P(ChangedByOthersTest, AChangeIsNotForgottenByASessionThatDoesNotWrite) {
    const std::uint64_t epoch = closed_session(alice, 50, 100);
    expect_noticed(attempt(alice, 0, modified(200)));
    last_->release();
    last_->ended(seconds(300));
    expect_silent(attempt(alice, 0, modified(300)));
    EXPECT_EQ(last_->pool_state()->behind_since, 100);
    EXPECT_GT(last_->pool_state()->last_epoch, epoch);
}

TEST_P(ChangedByOthersTest, HeadersThatAreNotThoseOfTheRecordAreNoticed) {
    closed_session(alice, 0, 0);
    PoolUse other = use_;
    other.headers[1].creation_time = 99;
    expect_noticed(attempt(alice, 0, other));
    EXPECT_NE(last_->pool_state()->behind_since, 0);
}

TEST_P(ChangedByOthersTest, ALostSessionIsNotResumedAfterAChange) {
    expect_silent(attempt(alice, 0, modified(50)));
    last_->ended(seconds(100));
    EXPECT_TRUE(failed(attempt(alice, 1, modified(200)).took_up, ESTALE, "rpmemd 1.12.1"));
    last_->ended(seconds(300)); // the open has modified the header
    EXPECT_TRUE(failed(attempt(alice, 2, modified(300)).took_up, ESTALE, "changed it"));
    last_->ended(seconds(300));
    expect_silent(attempt(alice, 0, modified(300)));
    EXPECT_NE(last_->pool_state()->behind_since, 0);
    EXPECT_EQ(last_->pool_state()->last_epoch, 2U) << "the record of this initiator proves nothing";
}

// A loss of power may set the time back.
TEST_P(ChangedByOthersTest, AnEarlierTimeDoesNotEndARunningProgram) {
    expect_silent(attempt(alice, 0, modified(50)));
    last_->ended(seconds(100));
    expect_silent(attempt(alice, 1, modified(99)));
}

// An initiator that may go on alone compares the pool itself.
TEST_P(ChangedByOthersTest, AnInitiatorThatMayGoAloneResumes) {
    expect_silent(attempt(alice, 0, modified(50)));
    ASSERT_TRUE(succeeded(last_->set_replica_state(ReplicaState::may_go_alone)));
    last_->ended(seconds(100));
    expect_silent(attempt(alice, 1, modified(200)));
}

// A daemon that was killed has not stored how it left the parts.
TEST_P(ChangedByOthersTest, AfterAKilledDaemonTheTimeIsUnknown) {
    expect_silent(attempt(alice, 0, modified(50)));
    expect_silent(attempt(alice, 1, modified(200)));
    last_.reset();
    expect_silent(attempt(alice, 0, modified(300)));
    EXPECT_NE(last_->pool_state()->behind_since, 0) << "it was not closed";
    EXPECT_EQ(last_->pool_state()->last_epoch, 1U) << "its initiator may prove what it has";
}

// To open a pool modifies its header, also if the claim is refused afterwards.
TEST_P(ChangedByOthersTest, ARefusedSessionIsNoChange) {
    const std::uint64_t epoch = closed_session(alice, 50, 100);
    EXPECT_TRUE(failed(attempt(bob, 1, modified(100)).took_up, ESTALE));
    last_->ended(seconds(150));
    expect_silent(attempt(alice, 0, modified(150)));
    EXPECT_EQ(last_->pool_state()->last_epoch, epoch);
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
}

TEST_P(ChangedByOthersTest, ASessionThatOnlyReadsWarnsAndChangesNothing) {
    closed_session(alice, 50, 100);
    for (int attempts = 0; attempts < 2; ++attempts) {
        const auto reader = attempt(bob, 0, modified(200), true);
        expect_noticed(reader);
    }
}

// A Device DAX has no such time.
TEST_P(ChangedByOthersTest, WithoutATimeNothingIsNoticed) {
    closed_session(alice, 0, 0);
    closed_session(alice, 0, 0);
    closed_session(alice, 50, 100);
    expect_silent(attempt(alice, 0, modified(0)));
}

INSTANTIATE_TEST_SUITE_P(, ChangedByOthersTest, testing::Values(0, ENOTSUP));

} // namespace
} // namespace rpmem::target
