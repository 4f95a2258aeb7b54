// SPDX-License-Identifier: BSD-3-Clause
// Tests the failures that a medium reports, and the deep flushes of a Device DAX, for which a file
// replaces deep_flush of sysfs. The test fails if a later failure replaces the first one, if a
// truncated or removed part is missed or not named, if deep_persist() does not write to that file,
// or if its error is lost.
#include "common/base/deep_flush.hpp"
#include "rpmemd/durability/failure_latch.hpp"
#include "tests/support/expect.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

#include <fcntl.h>

namespace rpmem::target {
namespace {

using test::contains;

TEST(FailureLatch, TheFirstFailureStays) {
    FailureLatch latch;
    EXPECT_EQ(latch.code(), 0);
    latch.set("/pools/first", 4096, 512, ENOSPC);
    latch.set("/pools/second", 0, 8, EIO);
    latch.set_truncated("/pools/third", 100, 1);
    EXPECT_EQ(latch.code(), ENOSPC);
    ASSERT_TRUE(latch.failure());
    EXPECT_EQ(latch.failure()->part, "/pools/first");
    EXPECT_EQ(latch.failure()->offset, 4096U);
    EXPECT_TRUE(contains(latch.failure()->text, "/pools/first"));
}

TEST(Medium, APartThatLostOneByteIsTruncated) {
    const GuardedPool pool;
    Medium medium;
    const UniqueFd file(::memfd_create("part", MFD_CLOEXEC));
    ASSERT_TRUE(medium.add(file.get(), "/pools/part0", pool.begin(), pool_size, false, page));
    ASSERT_EQ(::ftruncate(file.get(), page + pool_size), 0);
    medium.look_at_files();
    EXPECT_EQ(medium.failure_code(), 0);
    ASSERT_EQ(::ftruncate(file.get(), page + pool_size - 1), 0);
    medium.look_at_files();
    EXPECT_EQ(medium.failure_code(), EIO);
    EXPECT_TRUE(contains(medium.failure_text(), "/pools/part0"));
    EXPECT_TRUE(contains(medium.failure_text(), " 1 bytes"));
}

TEST(Medium, APartWithoutANameIsRemoved) {
    const GuardedPool pool;
    const test::TemporaryDirectory directory;
    const std::string path = directory.path() / "part0";
    const std::string other = directory.path() / "other";
    const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(file.get(), pool_size), 0);
    Medium medium;
    ASSERT_TRUE(medium.add(file.get(), path, pool.begin(), pool_size, false));
    ASSERT_EQ(::link(path.c_str(), other.c_str()), 0);
    ASSERT_EQ(::unlink(path.c_str()), 0);
    medium.look_at_files();
    EXPECT_EQ(medium.failure_code(), 0) << "it has another name";
    ASSERT_EQ(::unlink(other.c_str()), 0);
    medium.look_at_files();
    EXPECT_EQ(medium.failure_code(), EIO);
    EXPECT_TRUE(contains(medium.failure_text(), path + " was removed or replaced"));
}

// A deep flush writes "1" to the beginning of the file deep_flush of the region.
TEST(Medium, DeepPersistAsksTheRegionOfADeviceDax) {
    const GuardedPool pool;
    const UniqueFd region(::memfd_create("deep_flush", MFD_CLOEXEC));
    Medium medium;
    ASSERT_TRUE(
        medium.add(pool.fd(), "/dev/dax0.0", pool.begin(), pool_size, true, 0, region.get()));
    const auto asked = [&] {
        char text = 0;
        const bool is_asked = ::pread(region.get(), &text, 1, 0) == 1 && text == '1';
        return is_asked && ::ftruncate(region.get(), 0) == 0;
    };
    EXPECT_EQ(medium.persist(pool.begin(), 64), 0);
    EXPECT_FALSE(asked()) << "by persist()";
    EXPECT_EQ(medium.deep_persist(pool.begin(), 64), 0);
    EXPECT_TRUE(asked());
    EXPECT_EQ(medium.deep_persist(pool.begin() + pool_size - 1, 1), 0);
    EXPECT_TRUE(asked());
}

TEST(Medium, ADeepFlushThatFailsIsAFailureOfTheMedium) {
    const GuardedPool pool;
    const UniqueFd region(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(region);
    Medium medium;
    ASSERT_TRUE(
        medium.add(pool.fd(), "/dev/dax0.0", pool.begin(), pool_size, true, 0, region.get()));
    EXPECT_EQ(medium.deep_persist(pool.begin(), 64), ENOSPC);
    EXPECT_EQ(medium.failure_code(), ENOSPC);
}

} // namespace
} // namespace rpmem::target
