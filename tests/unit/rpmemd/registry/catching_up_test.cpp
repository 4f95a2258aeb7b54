// SPDX-License-Identifier: BSD-3-Clause
// Tests how the record of a pool that is catching up, or whose program may go on without it,
// outlives sessions and failures, with the record in an attribute and in state-dir. The test fails
// if the state ends without in_sync, if a refused writer takes the claim, if a state that was
// stored is lost or one that was not stored is reported as stored, or if an older rpmemd cannot
// read the record afterwards.
#include "tests/unit/rpmemd/registry/registration_fixture.hpp"

namespace rpmem::target {
namespace {

class CatchingUpTest : public RegistrationTest {
protected:
    CatchingUpTest() { knows_states_ = true; }

    [[nodiscard]] Result<> set(ReplicaState state) { return last_->set_replica_state(state); }
    // Returns the time since which the pool of the last session is catching up.
    [[nodiscard]] std::int64_t since() const {
        return last_->pool_state().value().catching_up_since;
    }
};

// Neither a later generation, nor another initiator, nor the end of either has sent what differs.
TEST_P(CatchingUpTest, OutlivesEverySession) {
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    const std::int64_t began = since();
    ASSERT_NE(began, 0);
    expect_silent(attempt(alice, 1, use_));
    EXPECT_EQ(since(), began);
    last_->closed(true);
    for (const bool is_closed : {true, false}) {
        expect_silent(attempt(bob, 0, use_));
        EXPECT_EQ(since(), began);
        if (is_closed)
            last_->closed(true);
    }
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(since(), began);
    EXPECT_NE(last_->pool_state()->behind_since, 0);
    ASSERT_TRUE(succeeded(set(ReplicaState::in_sync)));
    EXPECT_EQ(since(), 0);
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
}

// The operator of the target has accepted the copy, and clears the marks for everybody but the
// former program.
TEST_P(CatchingUpTest, AnAcceptedCopyIsNotResumed) {
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::may_go_alone)));
    const std::uint64_t epoch = last_->pool_state()->epoch;
    last_.reset();
    {
        const StateDirectory state = directory();
        PoolRecordPlace place(use_.attribute, &state, use_.parts.at(0),
                              PoolRecordPlace::Access::read_write);
        auto record = value_of(place.read());
        if (!record) // it is in state-dir
            record = value_of(place.read());
        ASSERT_TRUE(record);
        const PoolRecord next = accepted(*record);
        EXPECT_EQ(next.accepted_epoch, epoch + 1);
        EXPECT_EQ(next.id, record->id);
        ASSERT_TRUE(succeeded(place.write(next)));
    }
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "rpmemctl evict, accept, take"));
    knows_states_ = false;
    expect_silent(attempt(bob, 0, use_));
    EXPECT_EQ(last_->pool_state()->accepted_epoch, epoch + 1);
    EXPECT_EQ(last_->pool_state()->last_epoch, epoch + 1);
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
    EXPECT_EQ(last_->pool_state()->alone_since, 0);
}

// If it took the claim, the initiator of the pool could not resume, and would not send the rest.
TEST_P(CatchingUpTest, ARefusedWriterLeavesTheClaim) {
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    knows_states_ = false;
    for (const auto& [who, generation] : {std::pair(bob, 0U), std::pair(alice, 1U)}) {
        const auto refused = attempt(who, generation, use_);
        for (const char* const words :
             {"user 1 on host host", "since 20", "inconsistent", "rpmemctl push"})
            EXPECT_TRUE(failed(refused.took_up, ESTALE, words));
    }
    knows_states_ = true;
    expect_silent(attempt(alice, 2, use_));
    EXPECT_NE(since(), 0);
}

// The first page of the pool is hidden, perhaps in another state-dir, so its part looks unused.
TEST_P(CatchingUpTest, IsNoPlaceForANewPool) {
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    PoolUse created = use_;
    created.created = true;
    EXPECT_TRUE(failed(attempt(bob, 0, created).took_up, EEXIST, "it is catching up with"));
    expect_silent(attempt(alice, 0, use_));
    EXPECT_NE(since(), 0);
}

// The initiator has already got the response that the state is stored.
TEST_P(CatchingUpTest, AStateThatWasStoredIsNotGivenBack) {
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    last_->release();
    expect_silent(attempt(bob, 0, use_));
    EXPECT_NE(since(), 0);
    ASSERT_TRUE(succeeded(set(ReplicaState::in_sync)));
    last_->release();
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(since(), 0);
}

TEST_P(CatchingUpTest, AStateThatCannotBeStoredIsAnError) {
    if (!has_attributes())
        return;
    expect_silent(attempt(alice, 0, use_));
    attribute_error = ENOSPC;
    EXPECT_TRUE(failed(set(ReplicaState::catching_up), ENOSPC, "the state of the replica"));
    EXPECT_EQ(since(), 0);
    attribute_error = 0;
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    attribute_error = ENOSPC;
    EXPECT_TRUE(failed(set(ReplicaState::in_sync), ENOSPC));
    EXPECT_NE(since(), 0);
}

// An older rpmemd refuses a file in state-dir if one of its two slots has a format that it does not
// know.
TEST_P(CatchingUpTest, NothingOfFormat3IsLeftOfAPoolThatIsInSync) {
    const auto has_format_3 = [&] {
        std::string value(state_file_size, '\0');
        if (has_attributes())
            EXPECT_GT(
                ::getxattr(part_.path().c_str(), pool_attribute_name, value.data(), value.size()),
                0);
        else
            for (const auto& file : std::filesystem::directory_iterator(path_))
                if (file.path().filename().native().starts_with("pool-"))
                    value = test::read_file(file.path());
        return value.find("\"version\":3") != std::string::npos;
    };
    expect_silent(attempt(alice, 0, use_));
    EXPECT_FALSE(has_format_3());
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    EXPECT_TRUE(has_format_3());
    expect_silent(attempt(alice, 1, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::in_sync)));
    EXPECT_FALSE(has_format_3());
}

// Closed in order, the replica has everything. A session that was not closed may have gone on
// alone, and only a session that makes the replica equal ends that.
TEST_P(CatchingUpTest, AProgramThatMayGoAloneIsRemembered) {
    const auto alone = [&] { return last_->pool_state().value().alone_since; };
    expect_silent(attempt(alice, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::may_go_alone)));
    EXPECT_NE(alone(), 0);
    last_->closed(true);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(alone(), 0);
    ASSERT_TRUE(succeeded(set(ReplicaState::may_go_alone)));
    const std::int64_t began = alone();
    expect_silent(attempt(alice, 1, use_)); // caught up, and may go on alone again
    ASSERT_TRUE(succeeded(set(ReplicaState::catching_up)));
    ASSERT_TRUE(succeeded(set(ReplicaState::in_sync)));
    EXPECT_EQ(alone(), began);
    expect_silent(attempt(bob, 0, use_));
    EXPECT_EQ(alone(), began);
    EXPECT_NE(last_->pool_state()->behind_since, 0);
    last_->closed(true);
    knows_states_ = false;
    EXPECT_TRUE(failed(attempt(bob, 0, use_).took_up, ESTALE, "could go on without it"));
    knows_states_ = true;
    expect_silent(attempt(bob, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::in_sync)));
    EXPECT_EQ(alone(), 0);
}

// An open that the initiator gave up.
TEST_P(CatchingUpTest, AProgramThatNeverHadThePoolIsForgotten) {
    expect_silent(attempt(alice, 0, use_));
    last_->closed(true);
    expect_silent(attempt(bob, 0, use_));
    ASSERT_TRUE(succeeded(set(ReplicaState::may_go_alone)));
    last_->release();
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->alone_since, 0);
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
}

INSTANTIATE_TEST_SUITE_P(, CatchingUpTest, testing::Values(0, ENOTSUP));

} // namespace
} // namespace rpmem::target
