// SPDX-License-Identifier: BSD-3-Clause
// Tests when a session may resume a lost one, with the record of the pool in an attribute and, if
// the file system has none, in state-dir. The test fails if a session resumes a pool that another
// one may have written, if it writes without a claim, or if an unclean end is not reported.
#include "tests/unit/rpmemd/registry/registration_fixture.hpp"

#include <sys/syscall.h>
#include <unistd.h>

using rpmem::target::attribute_error;

extern "C" ssize_t fgetxattr(int fd, const char* name, void* value, std::size_t size) noexcept {
    if (attribute_error == 0)
        return ::syscall(SYS_fgetxattr, fd, name, value, size);
    errno = attribute_error;
    return -1;
}
extern "C" int fsetxattr(int fd, const char* name, const void* value, std::size_t size,
                         int flags) noexcept {
    if (attribute_error == 0)
        return static_cast<int>(::syscall(SYS_fsetxattr, fd, name, value, size, flags));
    errno = attribute_error;
    return -1;
}

namespace rpmem::target {
namespace {

TEST_P(RegistrationTest, ALostSessionIsTakenUpAgain) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 1, use_));
    expect_silent(attempt(alice, 3, use_));
    EXPECT_EQ(count_of_files(), has_attributes() ? 1U : 2U) << "of the session, and of the pool";
}

// The record is that of the last writer, even if its session was closed cleanly.
TEST_P(RegistrationTest, WhatIsNotTheSameIsStale) {
    PoolUse made = use_;
    made.created = true;
    PoolUse other_parts = use_;
    other_parts.parts[1].inode = 99;
    PoolUse other_system = use_;
    other_system.parts[1].file_system = 99;
    PoolUse other_generation = use_; // a reused inode number
    other_generation.parts[1].inode_generation = 99;
    PoolUse other_headers = use_;
    other_headers.headers[1].creation_time = 99;
    for (const auto& [use, words] :
         {std::pair(other_parts, "other files"), std::pair(other_system, "other files"),
          std::pair(other_generation, "other files"), std::pair(other_headers, "headers")}) {
        expect_silent(attempt(alice, 0, made));
        const auto again = attempt(alice, 1, use);
        EXPECT_TRUE(failed(again.took_up, ESTALE, words));
        EXPECT_TRUE(failed(again.took_up, ESTALE, "pmempool sync"));
        expect_silent(attempt(alice, 2, use_));
    }
    static_cast<void>(attempt(bob, 0, use_));
    last_->closed(true);
    EXPECT_TRUE(failed(attempt(alice, 3, use_).took_up, ESTALE, "another session"));
}

TEST_P(RegistrationTest, WithoutARecordTheyAreStale) {
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "no record"));
    expect_silent(attempt(alice, 0, use_));
    last_.reset();
    forget();
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "no record"));
}

// A record that cannot be read may be the claim of another session. Only reading is allowed.
TEST_P(RegistrationTest, ARecordThatCannotBeReadRefusesWriters) {
    expect_silent(attempt(alice, 0, use_));
    last_.reset();
    damage("garbled");
    for (const std::uint64_t generation : {0U, 1U})
        EXPECT_FALSE(attempt(alice, generation, use_).took_up);
    EXPECT_TRUE(succeeded(attempt(bob, 0, use_, true).took_up));
}

// A later rpmemd may have stored what this one would lose. The text names the place and both
// formats.
TEST_P(RegistrationTest, ARecordOfALaterFormatRefusesWritersAndStays) {
    expect_silent(attempt(alice, 0, use_));
    last_.reset();
    const std::string text = "{\"version\":4}";
    transport::Digest digest{};
    ASSERT_TRUE(transport::sha256({transport::bytes_of(text)}, digest));
    const std::string later = fmt::format("{} {}\n", hex_of(digest), text);
    damage(later);
    const std::string place = has_attributes() ? std::string(pool_attribute_name) : path_.native();
    for (const std::uint64_t generation : {0U, 1U}) {
        const auto refused = attempt(bob, generation, use_);
        const int code = has_attributes() ? EINVAL : ENOTSUP;
        EXPECT_TRUE(failed(refused.took_up, code, place));
        EXPECT_TRUE(failed(refused.took_up, code, "a record of format 4"));
        EXPECT_TRUE(failed(refused.took_up, code, "formats only up to 3"));
        last_->release();
        last_->ended(std::chrono::seconds(5));
        last_->closed(true);
    }
    EXPECT_TRUE(succeeded(attempt(bob, 0, use_, true).took_up)) << "reading is allowed";
    EXPECT_EQ(stored(), later);
}

TEST_P(RegistrationTest, AnErrorOfTheFileSystemRefusesWriters) {
    expect_silent(attempt(alice, 0, use_));
    attribute_error = EIO;
    for (const std::uint64_t generation : {0U, 1U})
        EXPECT_TRUE(failed(attempt(bob, generation, use_).took_up, EIO, pool_attribute_name));
    EXPECT_TRUE(succeeded(attempt(bob, 0, use_, true).took_up));
}

// The attribute belongs to the inode, so it does not depend on the name or on state-dir.
TEST_P(RegistrationTest, AnotherWriterIsNoticedWhateverItsStateDirectory) {
    if (!has_attributes())
        return;
    for (const char* const state : {"other-state", "/proc/x"}) {
        PoolUse made = use_;
        made.created = true;
        expect_silent(attempt(alice, 0, made));
        const std::string link = temporary_.path() / "link";
        std::filesystem::create_hard_link(part_.path(), link);
        PartRules rules;
        rules.unlocked = true;
        const PartFile other_name = value_of(PartFile::open(link, rules));
        PoolUse other = use_;
        other.pool_set = "/pools/b.set";
        other.attribute = PoolAttribute(other_name);
        Registration writer(state[0] == '/' ? std::filesystem::path(state)
                                            : temporary_.path() / state,
                            false, Log());
        ASSERT_TRUE(succeeded(writer.enter({.owner = digest_of(bob)})));
        ASSERT_TRUE(succeeded(writer.adopt(other, false)));
        writer.closed(true);
        EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "another session"));
        std::filesystem::remove(link);
    }
}

// A session of another initiator that ends cleanly does not add what the lost one had not written.
TEST_P(RegistrationTest, APoolThatMayBeBehindStaysSo) {
    expect_silent(attempt(alice, 0, use_));
    for (int session = 0; session < 3; ++session) {
        const auto later = attempt(bob, 0, use_);
        ASSERT_EQ(later.notices.size(), 1U) << session;
        EXPECT_TRUE(test::contains(later.notices[0], "may be behind"));
        last_->closed(true);
    }
    PoolUse made = use_;
    made.created = true;
    expect_silent(attempt(bob, 0, made));
    last_->closed(true);
    expect_silent(attempt(bob, 0, use_));
}

// The session that resumes the lost one has replayed everything before it was closed.
TEST_P(RegistrationTest, AnInitiatorThatCameBackAndClosedIsNotBehind) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 1, use_));
    last_->closed(true);
    expect_silent(attempt(bob, 0, use_));
}

TEST_P(RegistrationTest, AnEarlierGenerationDoesNotComeBehindALaterOne) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 5, use_));
    EXPECT_TRUE(failed(attempt(alice, 4, use_).took_up, ESTALE,
                       "its generation is 5, that of this session is 4"));
    std::optional<Registration> fifth;
    ASSERT_TRUE(succeeded(attempt(alice, 6, use_).took_up));
    fifth.swap(last_); // keeps that session
    EXPECT_TRUE(failed(attempt(alice, 5, use_).entered, EBUSY, "generation 6"));
    EXPECT_TRUE(succeeded(attempt(bob, 1, use_).entered)) << "another initiator's are its own";
}

TEST_P(RegistrationTest, AnOpenEndIsTold) {
    expect_silent(attempt(alice, 0, use_));
    const auto reader = attempt(bob, 0, use_, true);
    ASSERT_EQ(reader.notices.size(), 1U);
    EXPECT_TRUE(test::contains(reader.notices[0], "user 1 on host host"));
    const auto writer = attempt(bob, 0, use_);
    ASSERT_EQ(writer.notices.size(), 1U) << "a reader does not change what is reported";
    last_->closed(true);
    PoolUse made = use_;
    made.created = true;
    expect_silent(attempt(bob, 0, made));
}

// A session that was not served has changed nothing.
TEST_P(RegistrationTest, APoolIsGivenBackAsItWas) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(attempt(bob, 0, use_).notices.size(), 1U);
    last_->release();
    expect_silent(attempt(alice, 1, use_));
    last_->closed(true);
    expect_silent(attempt(bob, 0, use_));
    last_->release();
    expect_silent(attempt(bob, 0, use_));
}

TEST_P(RegistrationTest, WhoseHeadersWereChangedIsNotGivenBack) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(attempt(bob, 0, use_).notices.size(), 1U);
    last_->before_change();
    last_->after_change(use_.headers);
    last_->release();
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "another session"));
}

// Between before_change() and after_change(), the pool may have the old headers or the new ones.
TEST_P(RegistrationTest, HeadersMayChange) {
    expect_silent(attempt(alice, 0, use_));
    last_->before_change();
    PoolUse changed = use_;
    changed.headers[0].major = 9;
    expect_silent(attempt(alice, 1, changed));
    last_->before_change();
    last_->after_change(use_.headers);
    EXPECT_TRUE(failed(attempt(alice, 2, changed).took_up, ESTALE, "headers"));
    expect_silent(attempt(alice, 3, use_));
}

// Without state-dir an earlier daemon cannot be ended. Without attributes, too, another writer
// would not be noticed.
TEST_P(RegistrationTest, WithoutADirectoryThereIsNoSecondTime) {
    std::ofstream(temporary_.path() / "file") << "x";
    const std::pair<std::filesystem::path, int> directories[] = {
        {temporary_.path() / "file" / "state", EACCES},
        {"/proc/x", ENOENT}}; // as below a directory whose file system is not mounted yet
    for (const auto& [path, code] : directories) {
        Registration first(path, false, Log());
        ASSERT_TRUE(succeeded(first.enter({.owner = digest_of(alice)})));
        const auto took_up = first.adopt(use_, false);
        const auto notices = first.take_notices();
        ASSERT_GE(notices.size(), 1U);
        EXPECT_TRUE(test::contains(notices[0], "state-dir cannot be used"));
        if (!has_attributes()) {
            EXPECT_TRUE(failed(took_up, EACCES, "no user attributes"));
            continue;
        }
        EXPECT_TRUE(succeeded(took_up));
        EXPECT_TRUE(first.take_notices().empty());
        first.seen();
        first.closed(true);
        Registration second(path, false, Log());
        EXPECT_TRUE(failed(second.enter({.owner = digest_of(alice), .generation = 1}), code,
                           "state-dir cannot be used"));
    }
}

// What an initiator needs to make the replica equal. A session that connected no lane, or was
// closed without a write, does not count as the last one that has written.
TEST_P(RegistrationTest, AnInitiatorLearnsWhetherThePoolIsBehind) {
    knows_states_ = true;
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->last_epoch, 0U);
    const ClaimedPool first = *last_->pool_state();
    EXPECT_EQ(first.epoch, 1U);
    EXPECT_EQ(first.behind_since, 0);
    ASSERT_TRUE(succeeded(last_->begin_writing()));
    expect_silent(attempt(alice, 0, use_)); // reported by the initiator, not by a notice
    EXPECT_EQ(last_->pool_state()->id, first.id);
    EXPECT_EQ(last_->pool_state()->epoch, 2U);
    EXPECT_EQ(last_->pool_state()->last_epoch, 1U);
    EXPECT_NE(last_->pool_state()->behind_since, 0);
    ASSERT_TRUE(succeeded(last_->begin_writing()));
    last_->closed(false);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->epoch, 3U);
    EXPECT_EQ(last_->pool_state()->last_epoch, 1U);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->epoch, 4U);
    EXPECT_EQ(last_->pool_state()->last_epoch, 1U) << "the session before had no lane";
    ASSERT_TRUE(succeeded(last_->begin_writing()));
    last_->closed(true);
    EXPECT_EQ(last_->pool_state(), std::nullopt);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->last_epoch, 4U);
    last_->before_change();
    last_->after_change(use_.headers);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->last_epoch, 5U) << "the one before has changed the headers";
    static_cast<void>(attempt(bob, 0, use_, true));
    EXPECT_EQ(last_->pool_state(), std::nullopt) << "a session that only reads";
    EXPECT_TRUE(failed(last_->set_replica_state(ReplicaState::in_sync), EROFS));
}

// The initiator of the released claim may have recorded its epoch. If another initiator got the
// same one and wrote, the record would prove to the first one that it has the newer bytes.
TEST_P(RegistrationTest, AReleasedEpochIsNotUsedAgain) {
    knows_states_ = true;
    expect_silent(attempt(alice, 0, use_));
    last_->closed(true);
    expect_silent(attempt(bob, 0, use_));
    EXPECT_EQ(last_->pool_state()->epoch, 2U);
    last_->release();
    expect_silent(attempt(bob, 0, use_));
    EXPECT_EQ(last_->pool_state()->epoch, 3U);
    EXPECT_EQ(last_->pool_state()->last_epoch, 1U);
    last_->release();
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->epoch, 4U);
}

TEST_P(RegistrationTest, AReplicaThatCatchesUpStaysSoUntilItIsInSync) {
    knows_states_ = true;
    expect_silent(attempt(alice, 0, use_));
    EXPECT_TRUE(succeeded(last_->set_replica_state(ReplicaState::catching_up)));
    last_->closed(true);
    const auto reader = attempt(bob, 0, use_, true);
    ASSERT_EQ(reader.notices.size(), 1U);
    EXPECT_TRUE(test::contains(reader.notices[0], "is catching up with user 1 on host host"));
    expect_silent(attempt(alice, 0, use_));
    EXPECT_NE(last_->pool_state()->catching_up_since, 0);
    EXPECT_TRUE(succeeded(last_->set_replica_state(ReplicaState::in_sync)));
    last_->closed(true);
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(last_->pool_state()->catching_up_since, 0);
    EXPECT_EQ(last_->pool_state()->behind_since, 0);
}

// An initiator of an earlier version would take the inconsistent image for a pool.
TEST_P(RegistrationTest, AReplicaThatCatchesUpIsRefusedToAnInitiatorThatCannotMakeItEqual) {
    knows_states_ = true;
    expect_silent(attempt(alice, 0, use_));
    EXPECT_TRUE(succeeded(last_->set_replica_state(ReplicaState::catching_up)));
    last_.reset();
    knows_states_ = false;
    EXPECT_TRUE(failed(attempt(bob, 0, use_).took_up, ESTALE, "catching up"));
}

TEST_P(RegistrationTest, TheHolderIsKnownByItsPoolSet) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_TRUE(
        test::contains(last_->holder("/pools/a.set").value().description, "user 1 on host host"));
    EXPECT_FALSE(last_->holder("/pools/b.set"));
}

// Waiting for the pool is useless only if another initiator writes to it.
TEST_P(RegistrationTest, AnotherWriterIsKnownAsOne) {
    const struct {
        unsigned char asks;
        bool holder_reads_only;
        bool is_other_writer;
    } cases[] = {{alice, false, false}, {bob, false, true}, {bob, true, false}};
    for (const auto& one : cases) {
        ASSERT_TRUE(succeeded(attempt(alice, 0, use_, one.holder_reads_only).took_up));
        Registration asking(path_, false, Log());
        ASSERT_TRUE(succeeded(asking.enter({.owner = digest_of(one.asks)})));
        const auto holder = asking.holder("/pools/a.set");
        ASSERT_TRUE(holder);
        EXPECT_EQ(holder->is_other_writer, one.is_other_writer);
    }
}

TEST_P(RegistrationTest, AClaimThatCannotBeStoredIsNoSession) {
    if (!has_attributes())
        return;
    expect_silent(attempt(alice, 0, use_));
    attribute_error = ENOSPC;
    EXPECT_TRUE(failed(attempt(bob, 0, use_).took_up, ENOSPC));
}

INSTANTIATE_TEST_SUITE_P(, RegistrationTest, testing::Values(0, ENOTSUP));

} // namespace
} // namespace rpmem::target
