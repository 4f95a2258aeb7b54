// SPDX-License-Identifier: BSD-3-Clause
// Tests when a session may resume a lost one, with the record of the pool in an attribute and, if
// the file system has none, in state-dir. The test fails if a session resumes a pool that another
// one may have written, if it writes without a claim, or if an unclean end is not reported.
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/registry/registration.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace {
// The errno value of all calls for attributes, or 0 if they work.
int attribute_error = 0;
} // namespace

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

constexpr unsigned char alice = 1;
constexpr unsigned char bob = 2;

struct Attempt {
    Result<> entered;
    Result<> took_up;
    std::vector<std::string> notices;
};

PartFile make_part(const std::filesystem::path& path) {
    std::ofstream(path) << "a part";
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    PartRules rules;
    rules.unlocked = true;
    return value_of(PartFile::open(path, rules));
}

class RegistrationTest : public StateDirectoryTest, public testing::WithParamInterface<int> {
protected:
    RegistrationTest() { attribute_error = GetParam(); }
    ~RegistrationTest() override { attribute_error = 0; }
    [[nodiscard]] static bool has_attributes() { return GetParam() == 0; }
    // Overwrites the record with VALUE.
    void damage(const std::string& value) const {
        if (has_attributes())
            ASSERT_EQ(::setxattr(part_.path().c_str(), pool_attribute_name, value.data(),
                                 value.size(), 0),
                      0);
        else
            for (const auto& file : std::filesystem::directory_iterator(path_))
                if (file.path().filename().native().starts_with("pool-"))
                    std::ofstream(file.path()) << value;
    }
    void forget() const {
        if (has_attributes())
            ASSERT_EQ(::removexattr(part_.path().c_str(), pool_attribute_name), 0);
        else
            for (const auto& file : std::filesystem::directory_iterator(path_))
                if (file.path().filename().native().starts_with("pool-"))
                    std::filesystem::remove(file.path());
    }

    // Starts a session of the initiator WHO.
    Attempt attempt(unsigned char who, std::uint64_t generation, const PoolUse& use,
                    bool read_only = false) {
        last_.emplace(path_, read_only, Log());
        Attempt result{
            last_->enter({.owner = digest_of(who),
                          .generation = generation,
                          .initiator = {.host = "host", .user = fmt::format("{}", who)}}),
            {},
            {}};
        if (result.entered)
            result.took_up = last_->adopt(use);
        result.notices = last_->take_notices();
        return result;
    }
    static void expect_silent(const Attempt& attempt) {
        EXPECT_TRUE(succeeded(attempt.entered));
        EXPECT_TRUE(succeeded(attempt.took_up));
        EXPECT_TRUE(attempt.notices.empty()) << attempt.notices.at(0);
    }

    const PartFile part_ = make_part(temporary_.path() / "a.0");
    PoolUse use_{.pool_set = "/pools/a.set",
                 .parts = {{"/pools/a.0", 7, 70, 1}, {"/pools/a.1", 7, 71, 1}},
                 .attribute = PoolAttribute(part_),
                 .headers = std::vector<PoolHeader>(2)};
    std::optional<Registration> last_;
};

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
    last_->closed();
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
        ASSERT_TRUE(succeeded(writer.adopt(other)));
        writer.closed();
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
        last_->closed();
    }
    PoolUse made = use_;
    made.created = true;
    expect_silent(attempt(bob, 0, made));
    last_->closed();
    expect_silent(attempt(bob, 0, use_));
}

// The session that resumes the lost one has replayed everything before it was closed.
TEST_P(RegistrationTest, AnInitiatorThatCameBackAndClosedIsNotBehind) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 1, use_));
    last_->closed();
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
    last_->closed();
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
    last_->closed();
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
        const auto took_up = first.adopt(use_);
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
        first.closed();
        Registration second(path, false, Log());
        EXPECT_TRUE(failed(second.enter({.owner = digest_of(alice), .generation = 1}), code,
                           "state-dir cannot be used"));
    }
}

TEST_P(RegistrationTest, TheHolderIsKnownByItsPoolSet) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_TRUE(
        test::contains(last_->holder("/pools/a.set").value().description, "user 1 on host host"));
    EXPECT_FALSE(last_->holder("/pools/b.set"));
}

// Only if another initiator writes to the pool, waiting for it is useless.
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
