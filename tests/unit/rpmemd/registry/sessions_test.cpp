// SPDX-License-Identifier: BSD-3-Clause
// Tests the files of sessions in a real state-dir. The test fails if a live session is not listed,
// if an ended one is listed or its file stays, if a file that cannot be read ends the list or is
// removed while it is locked, or if one call removes too many files.
#include "rpmemd/registry/sessions.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <unistd.h>

namespace rpmem::target {
namespace {

class Sessions : public StateDirectoryTest {
protected:
    [[nodiscard]] std::vector<LiveSession> live() const { return live_sessions(directory_, log_); }

    const StateDirectory directory_ = directory();
    const Log log_{};
};

TEST_F(Sessions, AreThereWhileTheirFilesAreLocked) {
    {
        const auto one = value_of(make_session_file(directory_, session_record(1)));
        const auto two = value_of(make_session_file(directory_, session_record(2)));
        auto found = live();
        ASSERT_EQ(found.size(), 2U);
        std::ranges::sort(found, {}, [](const auto& each) { return each.record.generation; });
        EXPECT_EQ(found[1].record, session_record(2));
        EXPECT_NE(found[1].last_seen, 0);
        EXPECT_EQ(count_of_files(), 2U);
    }
    EXPECT_TRUE(live().empty());
    EXPECT_EQ(count_of_files(), 0U) << "what was left is removed";
}

// A confined session cannot remove its own file, so the next one does. With 65 000 such files a
// takeover took 2.6 s.
TEST_F(Sessions, ThoseThatHaveEndedAreRemovedByTheNext) {
    const auto lives = value_of(make_session_file(directory_, session_record(1)));
    for (std::size_t i = 0; i < max_removed + 1; ++i)
        std::ofstream(path_ / fmt::format("session-{}", i)) << "x";
    remove_ended_sessions(directory_);
    EXPECT_EQ(count_of_files(), 2U) << "a session is not kept waiting for more than max_removed";
    remove_ended_sessions(directory_);
    EXPECT_EQ(count_of_files(), 1U);
    EXPECT_EQ(live().size(), 1U);
}

// The contents do not matter.
TEST_F(Sessions, UnlockedFilesAreRemoved) {
    for (const std::string& contents : {std::string(), std::string("x"), std::string(100000, 'y')})
        std::ofstream(path_ / fmt::format("session-{}", contents.size())) << contents;
    std::ofstream(path_ / "pool-1") << "x";
    EXPECT_TRUE(live().empty());
    EXPECT_EQ(count_of_files(), 1U);
}

TEST_F(Sessions, WhatCannotBeReadIsPassedOver) {
    std::filesystem::create_directory(path_ / "session-folder");
    std::filesystem::create_symlink("/etc/passwd", path_ / "session-link");
    const auto garbled = value_of(StateFile::make(directory_, "session-garbled"));
    ASSERT_TRUE(garbled.lock());
    std::ofstream(path_ / "session-garbled") << "garbled";
    const auto blank = value_of(StateFile::make(directory_, "session-blank"));
    ASSERT_TRUE(blank.lock());
    const auto good = value_of(make_session_file(directory_, session_record()));
    EXPECT_EQ(live().size(), 1U);
    EXPECT_EQ(count_of_files(), 5U);
}

// The daemon of a later version keeps its pool by the lock on its parts.
TEST_F(Sessions, OfALaterFormatIsLoggedAndKept) {
    auto later = value_of(StateFile::make(directory_, "session-later"));
    ASSERT_TRUE(later.lock());
    const std::string text = "{\"version\":3}";
    transport::Digest digest{};
    ASSERT_TRUE(transport::sha256({transport::bytes_of(text)}, digest));
    std::ofstream(path_ / "session-later") << hex_of(digest) << ' ' << text << '\n';
    EXPECT_TRUE(live().empty());
    const auto read = later.read<SessionRecord>();
    EXPECT_TRUE(failed(read, ENOTSUP, (path_ / "session-later").native()));
    EXPECT_TRUE(failed(read, ENOTSUP,
                       "a record of format 3, but this rpmemd knows formats only "
                       "up to 2"));
    remove_ended_sessions(directory_);
    EXPECT_EQ(count_of_files(), 1U) << "its daemon is alive";
}

TEST_F(Sessions, AreDescribedForPeople) {
    EXPECT_EQ(describe(session_record().initiator), "user alice on host host-a (192.0.2.1)");
    EXPECT_EQ(describe(InitiatorName{}), "user unknown on host unknown (unknown)");
    EXPECT_EQ(describe_time(1700000000), "2023-11-14 22:13:20 UTC");
    EXPECT_EQ(describe_time(std::numeric_limits<std::int64_t>::max()), "an unknown time");
}

} // namespace
} // namespace rpmem::target
