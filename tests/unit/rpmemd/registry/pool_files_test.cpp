// SPDX-License-Identifier: BSD-3-Clause
// Tests the records of pools in state-dir. The test fails if two pools share a file or one pool has
// two, if two processes have it open, if the file of a closed pool is never removed, or if one is
// removed that is in use, has no clean close, or records that the pool is behind.
#include "rpmemd/registry/pool_files.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

namespace rpmem::target {
namespace {

class PoolFiles : public StateDirectoryTest {
protected:
    // Makes a file that was last used AGO.
    void make(const std::string& name, bool closed, std::chrono::seconds ago,
              std::int64_t behind_since = 0, std::int64_t catching_up_since = 0) const {
        PoolRecord record = pool_record();
        record.behind_since = behind_since;
        record.catching_up_since = catching_up_since;
        record.closed = closed;
        auto file = value_of(make_pool_file(directory_, name));
        ASSERT_TRUE(succeeded(file.write(record)));
        const std::time_t seen = std::time(nullptr) - ago.count();
        const timespec times[2] = {{seen, 0}, {seen, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, (path_ / name).c_str(), times, 0), 0);
    }

    const StateDirectory directory_ = directory();
};

// The path of the part does not matter. A reused inode number has another generation.
TEST_F(PoolFiles, AreNamedByTheInodeOfTheFirstPart) {
    const auto name = value_of(pool_file_name({"/a/1", 1, 2, 3}));
    EXPECT_EQ(name, value_of(pool_file_name({"/b/2", 1, 2, 3})));
    for (const PartIdentity& other : {PartIdentity{"/a/1", 9, 2, 3}, PartIdentity{"/a/1", 1, 9, 3},
                                      PartIdentity{"/a/1", 1, 2, 9}})
        EXPECT_NE(name, value_of(pool_file_name(other)));
    EXPECT_NE(value_of(pool_file_name({"/dev/dax0.0"})), value_of(pool_file_name({"/dev/dax1.0"})));
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
    make("pool-behind", true, old, 1700000000);
    make("pool-catching-up", true, old, 0, 1700000000);
    const auto held = value_of(open_pool_file(directory_, "pool-held"));
    remove_old_pool_files(directory_);
    EXPECT_FALSE(std::filesystem::exists(path_ / "pool-old"));
    for (const char* name :
         {"pool-young", "pool-open", "pool-held", "pool-behind", "pool-catching-up"})
        EXPECT_TRUE(std::filesystem::exists(path_ / name)) << name;
}

} // namespace
} // namespace rpmem::target
