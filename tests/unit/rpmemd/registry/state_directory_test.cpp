// SPDX-License-Identifier: BSD-3-Clause
// Tests how state-dir is created and opened, with real directories. The test fails if others may
// write to it or own it, if a home directory is created, if a missing parent is not, if a path is
// accepted that is no directory, or if the list of names is wrong.
#include "rpmemd/registry/state_directory.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

mode_t mode_of(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
}

TEST_F(StateDirectoryTest, IsMadeForItsUserAloneWithWhatIsMissing) {
    const auto deep = temporary_.path() / "a" / "b" / "c";
    for (int time = 0; time < 2; ++time)
        ASSERT_TRUE(succeeded(StateDirectory::open(deep)));
    for (const auto& path : {deep, deep.parent_path(), deep.parent_path().parent_path()})
        EXPECT_EQ(mode_of(path), 0700U) << path;
    ASSERT_TRUE(succeeded(StateDirectory::open(path_ / ""))) << "a slash at the end";
}

// The default state-dir is below the home directory, which may not exist.
TEST_F(StateDirectoryTest, NoHomeDirectoryIsMade) {
    const auto home = temporary_.path() / "nonexistent";
    EXPECT_TRUE(failed(StateDirectory::open(home / ".local/state/rpmemd"), ENOENT,
                       "lacks 4 directories below " + temporary_.path().native()));
    EXPECT_FALSE(std::filesystem::exists(home));
    std::filesystem::create_directory(home);
    EXPECT_TRUE(succeeded(StateDirectory::open(home / ".local/state/rpmemd/")));
}

TEST_F(StateDirectoryTest, OthersMayNotWriteToIt) {
    std::filesystem::create_directory(path_);
    for (const mode_t mode : {0770U, 0702U, 01777U}) {
        ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
        EXPECT_TRUE(failed(StateDirectory::open(path_), EACCES, "chmod go-w"));
    }
    ASSERT_EQ(::chmod(path_.c_str(), 0770), 0);
    EXPECT_TRUE(failed(StateDirectory::open(path_ / "below"), EACCES, "chmod go-w"));
    EXPECT_FALSE(std::filesystem::exists(path_ / "below"));
}

TEST_F(StateDirectoryTest, BelongsToItsUser) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root gives things to others";
    std::filesystem::create_directory(path_);
    ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(failed(StateDirectory::open(path_), EACCES, "12345"));
}

TEST_F(StateDirectoryTest, WhereNoneCanBeThereIsNone) {
    std::ofstream(temporary_.path() / "file") << "x";
    EXPECT_TRUE(failed(StateDirectory::open(temporary_.path() / "file"), ENOTDIR));
    EXPECT_TRUE(failed(StateDirectory::open(temporary_.path() / "file" / "state"), ENOTDIR));
    EXPECT_FALSE(StateDirectory::open("/proc/rpmemd"));
    EXPECT_TRUE(failed(StateDirectory::open("$HOME/state"), EINVAL, "HOME is not set"));
}

TEST_F(StateDirectoryTest, ListsByTheBeginningOfNames) {
    const auto state = directory();
    for (const char* name : {"session-1", "session-2", "pool-1"})
        std::ofstream(path_ / name) << "x";
    auto names = state.names("session-");
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"session-1", "session-2"}));
    EXPECT_TRUE(succeeded(state.sync()));
}

} // namespace
} // namespace rpmem::target
