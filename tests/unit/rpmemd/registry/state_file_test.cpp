// SPDX-License-Identifier: BSD-3-Clause
// Tests the files of state-dir, which keep two records in two slots. The test fails if a write
// touches the slot of the record before it, if a torn slot hides that record, if a file is used
// that others may write to or that is not regular, if two can lock it, or if a full disk is missed.
#include "rpmemd/registry/state_file.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <ctime>

namespace rpmem::target {
namespace {

class StateFileTest : public StateDirectoryTest {
protected:
    [[nodiscard]] std::filesystem::path file() const { return path_ / "one"; }

    const StateDirectory directory_ = directory();
};

TEST_F(StateFileTest, KeepsTheLastTwoRecords) {
    auto made = value_of(StateFile::make(directory_, "one"));
    EXPECT_FALSE(value_of(made.read<PoolRecord>()));
    for (std::uint64_t generation = 1; generation < 6; ++generation) {
        ASSERT_TRUE(succeeded(made.write(pool_record(generation))));
        auto opened = value_of(StateFile::open(directory_, "one"));
        EXPECT_EQ(value_of(opened.read<PoolRecord>())->generation, generation);
        EXPECT_EQ(std::filesystem::file_size(file()), state_file_size);
    }
    auto opened = value_of(StateFile::open(directory_, "one"));
    ASSERT_TRUE(opened.read<PoolRecord>());
    ASSERT_TRUE(succeeded(opened.write(pool_record(9)))) << "and goes on where it was";
    EXPECT_EQ(value_of(opened.read<PoolRecord>())->generation, 9U);
}

// A power failure may tear the slot that is written. The record before it must be in the other one.
TEST_F(StateFileTest, AWriteLeavesTheRecordBeforeItAlone) {
    auto made = value_of(StateFile::make(directory_, "one"));
    for (std::uint64_t generation = 1; generation < 6; ++generation) {
        const std::string before = test::read_file(file());
        ASSERT_TRUE(succeeded(made.write(pool_record(generation))));
        std::string bytes = test::read_file(file());
        const std::size_t first = bytes.compare(0, slot_size, before, 0, slot_size) == 0 ? 1 : 0;
        ASSERT_EQ(bytes.compare((1 - first) * slot_size, slot_size, before, (1 - first) * slot_size,
                                slot_size),
                  0)
            << "both slots were written";
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first * slot_size + 100), 512, 'x');
        const std::string torn = (path_ / "torn").native();
        std::ofstream(torn, std::ios::binary) << bytes;
        std::filesystem::permissions(torn, std::filesystem::perms(0600));
        auto opened = value_of(StateFile::open(directory_, "torn"));
        const auto record = opened.read<PoolRecord>();
        if (generation == 1)
            EXPECT_FALSE(record && *record);
        else
            EXPECT_EQ(value_of(record)->generation, generation - 1);
    }
}

TEST_F(StateFileTest, IsForItsUserAlone) {
    ASSERT_TRUE(succeeded(StateFile::make(directory_, "one")));
    struct stat status {};
    ASSERT_EQ(::stat(file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    EXPECT_TRUE(failed(StateFile::make(directory_, "one"), EEXIST));
    EXPECT_TRUE(failed(StateFile::open(directory_, "two"), ENOENT));
    ASSERT_EQ(::chmod(file().c_str(), 0620), 0);
    EXPECT_TRUE(failed(StateFile::open(directory_, "one"), EACCES, "chmod go-w"));
}

TEST_F(StateFileTest, OnlyARegularFileIsOne) {
    std::filesystem::create_symlink("/etc/passwd", path_ / "link");
    EXPECT_TRUE(failed(StateFile::open(directory_, "link"), ELOOP));
    std::filesystem::create_directory(path_ / "folder");
    EXPECT_TRUE(failed(StateFile::open(directory_, "folder"), EACCES, "no regular file"));
    ASSERT_EQ(::mkfifo((path_ / "fifo").c_str(), 0600), 0);
    EXPECT_TRUE(failed(StateFile::open(directory_, "fifo"), EACCES, "no regular file"));
}

TEST_F(StateFileTest, HasOneOwnerAtATime) {
    const auto made = value_of(StateFile::make(directory_, "one"));
    EXPECT_TRUE(made.lock());
    {
        const auto opened = value_of(StateFile::open(directory_, "one"));
        EXPECT_FALSE(opened.lock());
        EXPECT_TRUE(opened.is_at(directory_, "one"));
    }
    std::filesystem::rename(file(), path_ / "two");
    EXPECT_FALSE(made.is_at(directory_, "one"));
}

TEST_F(StateFileTest, SaysWhenItWasLastSeen) {
    const auto made = value_of(StateFile::make(directory_, "one"));
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file().c_str(), long_ago, 0), 0);
    EXPECT_EQ(made.last_seen(), 1000);
    made.touch();
    EXPECT_NEAR(static_cast<double>(made.last_seen()), static_cast<double>(std::time(nullptr)), 5);
}

TEST_F(StateFileTest, AFullDiskIsToldAtOnceAndLeavesNothing) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit none{slot_size, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    const auto made = StateFile::make(directory_, "one");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(failed(made, EFBIG, "one"));
    EXPECT_EQ(count_of_files(), 0U);
}

} // namespace
} // namespace rpmem::target
