// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/registration.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <unistd.h>

namespace rpmem::target {
namespace {

constexpr unsigned char alice = 1;
constexpr unsigned char bob = 2;

struct Attempt {
    Result<> entered;
    Result<> took_up;
    std::vector<std::string> notices;
};

class RegistrationTest : public StateDirectoryTest {
protected:
    // A session of one who may be known again by WHO.
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
            result.took_up = last_->take_up(use);
        result.notices = last_->take_notices();
        return result;
    }
    static void expect_silent(const Attempt& attempt) {
        EXPECT_TRUE(succeeded(attempt.entered));
        EXPECT_TRUE(succeeded(attempt.took_up));
        EXPECT_TRUE(attempt.notices.empty()) << attempt.notices.at(0);
    }

    PoolUse use_{.pool_set = "/pools/a.set",
                 .parts = {{"/pools/a.0", 7, 70}, {"/pools/a.1", 7, 71}},
                 .headers = std::vector<PoolHeader>(2)};
    std::optional<Registration> last_;
};

TEST_F(RegistrationTest, ALostSessionIsTakenUpAgain) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 1, use_));
    expect_silent(attempt(alice, 3, use_));
    EXPECT_EQ(count_of_files(), 2U) << "one of the pool, one of the session";
}

// Whoever wrote last is whom the record is of, also if its session ended in order.
TEST_F(RegistrationTest, WhatIsNotTheSameIsStale) {
    PoolUse made = use_;
    made.created = true;
    PoolUse other_parts = use_;
    other_parts.parts[1].inode = 99;
    PoolUse other_system = use_;
    other_system.parts[0].file_system = 99;
    PoolUse other_headers = use_;
    other_headers.headers[1].creation_time = 99;
    for (const auto& [use, words] :
         {std::pair(other_parts, "other files"), std::pair(other_system, "other files"),
          std::pair(other_headers, "headers")}) {
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

TEST_F(RegistrationTest, WithoutARecordTheyAreStale) {
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "no record"));
    expect_silent(attempt(alice, 0, use_));
    for (const auto& file : std::filesystem::directory_iterator(path_))
        if (file.path().filename().native().starts_with("pool-"))
            std::ofstream(file.path()) << "garbled";
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "no record"));
}

TEST_F(RegistrationTest, AnEarlierGenerationDoesNotComeBehindALaterOne) {
    expect_silent(attempt(alice, 0, use_));
    expect_silent(attempt(alice, 5, use_));
    EXPECT_TRUE(failed(attempt(alice, 4, use_).took_up, ESTALE, "later session"));
    std::optional<Registration> fifth;
    ASSERT_TRUE(succeeded(attempt(alice, 6, use_).took_up));
    fifth.swap(last_); // is there still
    EXPECT_TRUE(failed(attempt(alice, 5, use_).entered, EBUSY, "session 6"));
    EXPECT_TRUE(succeeded(attempt(bob, 1, use_).entered)) << "another initiator's are its own";
}

TEST_F(RegistrationTest, AnOpenEndIsTold) {
    expect_silent(attempt(alice, 0, use_));
    const auto reader = attempt(bob, 0, use_, true);
    ASSERT_EQ(reader.notices.size(), 1U);
    EXPECT_TRUE(test::contains(reader.notices[0], "user 1 on host host"));
    const auto writer = attempt(bob, 0, use_);
    ASSERT_EQ(writer.notices.size(), 1U) << "a reader does not change what is told";
    last_->closed();
    expect_silent(attempt(alice, 0, use_));
    PoolUse made = use_;
    made.created = true;
    expect_silent(attempt(bob, 0, made));
}

// A session that did not come to be has changed nothing.
TEST_F(RegistrationTest, APoolIsGivenBackAsItWas) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(attempt(bob, 0, use_).notices.size(), 1U);
    last_->give_back();
    expect_silent(attempt(alice, 1, use_));
    last_->closed();
    expect_silent(attempt(bob, 0, use_));
    last_->give_back();
    expect_silent(attempt(bob, 0, use_));
}

TEST_F(RegistrationTest, WhoseHeadersWereChangedIsNotGivenBack) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_EQ(attempt(bob, 0, use_).notices.size(), 1U);
    last_->before_change();
    last_->after_change(use_.headers);
    last_->give_back();
    EXPECT_TRUE(failed(attempt(alice, 1, use_).took_up, ESTALE, "another session"));
}

// Between the two, the headers may be the old ones or the new ones.
TEST_F(RegistrationTest, HeadersMayChange) {
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

TEST_F(RegistrationTest, WithoutADirectoryThereIsNoSecondTime) {
    std::ofstream(temporary_.path() / "file") << "x";
    for (const auto& path :
         {temporary_.path() / "file" / "state", std::filesystem::path("/proc/x")}) {
        Registration first(path, false, Log());
        ASSERT_TRUE(succeeded(first.enter({.owner = digest_of(alice)})));
        EXPECT_TRUE(succeeded(first.take_up(use_)));
        const auto notices = first.take_notices();
        ASSERT_EQ(notices.size(), 1U);
        EXPECT_TRUE(test::contains(notices[0], "state-dir cannot be used"));
        EXPECT_TRUE(first.take_notices().empty());
        first.seen();
        first.closed();
        Registration second(path, false, Log());
        EXPECT_TRUE(failed(second.enter({.owner = digest_of(alice), .generation = 1}), EACCES,
                           "state-dir cannot be used"));
    }
}

TEST_F(RegistrationTest, TheHolderIsKnownByItsPoolSet) {
    expect_silent(attempt(alice, 0, use_));
    EXPECT_TRUE(
        test::contains(last_->holder("/pools/a.set").value().description, "user 1 on host host"));
    EXPECT_FALSE(last_->holder("/pools/b.set"));
}

// Only then is it no use to wait for the pool.
TEST_F(RegistrationTest, AnotherWriterIsKnownAsOne) {
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

// Whoever cannot write itself down must not leave the record of another behind.
TEST_F(RegistrationTest, ARecordThatCannotBeReplacedIsRemoved) {
    expect_silent(attempt(alice, 0, use_));
    std::filesystem::path record;
    for (const auto& file : std::filesystem::directory_iterator(path_))
        if (file.path().filename().native().starts_with("pool-"))
            record = file.path();
    std::filesystem::remove(record);
    std::filesystem::create_directory(record); // neither read, nor written, nor removed
    const auto later = attempt(bob, 0, use_);
    EXPECT_TRUE(succeeded(later.took_up)) << "there is nothing that misleads";
    ASSERT_EQ(later.notices.size(), 1U);
    EXPECT_TRUE(test::contains(later.notices[0], "cannot be opened again"));
}

} // namespace
} // namespace rpmem::target
