// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/pool_files.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

namespace rpmem::target {
namespace {

class PoolFiles : public StateDirectoryTest {
protected:
    // One that was last seen AGO.
    void make(const std::string& name, bool closed, std::chrono::seconds ago) const {
        PoolRecord record = pool_record();
        record.closed = closed;
        auto file = value_of(make_pool_file(directory_, name));
        ASSERT_TRUE(succeeded(file.write(record)));
        const std::time_t seen = std::time(nullptr) - ago.count();
        const timespec times[2] = {{seen, 0}, {seen, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, (path_ / name).c_str(), times, 0), 0);
    }

    const StateDirectory directory_ = directory();
};

TEST_F(PoolFiles, AreNamedByTheFirstPart) {
    const auto name = value_of(pool_file_name({{"/a/1", 1, 2}, {"/a/2", 3, 4}}));
    EXPECT_EQ(name, value_of(pool_file_name({{"/a/1", 5, 6}})));
    EXPECT_NE(name, value_of(pool_file_name({{"/a/2", 1, 2}})));
}

TEST_F(PoolFiles, OneDaemonHasIt) {
    EXPECT_TRUE(failed(open_pool_file(directory_, "pool-1"), ENOENT));
    {
        const auto made = value_of(make_pool_file(directory_, "pool-1"));
        EXPECT_TRUE(failed(open_pool_file(directory_, "pool-1"), EBUSY, "pool-1"));
        EXPECT_TRUE(failed(make_pool_file(directory_, "pool-1"), EEXIST));
    }
    EXPECT_TRUE(succeeded(open_pool_file(directory_, "pool-1")));
}

TEST_F(PoolFiles, OldOnesOfClosedPoolsAreRemoved) {
    const std::chrono::seconds old = closed_record_life + std::chrono::minutes(1);
    const std::chrono::seconds young = closed_record_life - std::chrono::minutes(1);
    make("pool-old", true, old);
    make("pool-young", true, young);
    make("pool-open", false, old);
    make("pool-held", true, old);
    const auto held = value_of(open_pool_file(directory_, "pool-held"));
    remove_old_pool_files(directory_);
    EXPECT_FALSE(std::filesystem::exists(path_ / "pool-old"));
    for (const char* name : {"pool-young", "pool-open", "pool-held"})
        EXPECT_TRUE(std::filesystem::exists(path_ / name)) << name;
}

} // namespace
} // namespace rpmem::target
