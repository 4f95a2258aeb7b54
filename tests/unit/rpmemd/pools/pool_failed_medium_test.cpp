// SPDX-License-Identifier: BSD-3-Clause
// Tests a pool after a failure of its medium, and SyncTracker, which detects it. The recorder makes
// syncs fail. The test fails if the medium is used again, if the failure does not name part and
// offset, if the pool is marked as cleanly closed or keeps its page cache, or if a sync succeeds
// that overlaps a failed one.
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/durability/sync_tracker.hpp"
#include "tests/support/dumped_pages.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <future>

namespace rpmem::target {
namespace {

using test::Recorder;

constexpr std::size_t pool_bytes = 4 * MiB;

class FailedMedium : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        Recorder::instance().reset();
        pool_set("set", "4M @/part0\n4M @/part1\n");
    }
    void TearDown() override {
        Recorder::instance().reset();
        PoolFixture::TearDown();
    }
    static rpmem_pool_attr with_shutdown_state() {
        return golden_attributes(feature::incompat_checksum_2k | feature::incompat_shutdown_state);
    }
    [[nodiscard]] std::size_t cached_pages(const std::string& name) const {
        const UniqueFd file(::open(part(name).c_str(), O_RDONLY | O_CLOEXEC));
        void* const memory = ::mmap(nullptr, pool_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
        std::vector<unsigned char> pages(pool_bytes / 4096);
        EXPECT_EQ(::mincore(memory, pool_bytes, pages.data()), 0);
        ::munmap(memory, pool_bytes);
        return static_cast<std::size_t>(
            std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
    }
    // On tmpfs the page cache is the medium and cannot be dropped.
    [[nodiscard]] bool is_in_memory() const {
        struct statfs system {};
        return ::statfs(root.c_str(), &system) != 0 || system.f_type == TMPFS_MAGIC;
    }
};

TEST_F(FailedMedium, IsAskedNothingAnyMore) {
    auto pool = value_of(create("set", pool_bytes, with_shutdown_state()));
    Recorder::instance().reset();
    Recorder::instance().fail({"fdatasync", "part1", 1, EIO});
    EXPECT_TRUE(failed(pool.set_attributes(golden_attributes(feature::incompat_checksum_2k)), EIO));
    const auto failure = pool.medium_failure();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->part, part("part1").native());
    EXPECT_EQ(failure->offset, 0U);
    EXPECT_EQ(failure->length, 4096U);
    EXPECT_EQ(failure->code, EIO);
    const std::size_t calls = Recorder::instance().events().size();
    EXPECT_TRUE(failed(pool.set_attributes(with_shutdown_state()), EIO, "the medium of part"));
    EXPECT_EQ(pool.medium().persist(pool.address(), 64), EIO);
    EXPECT_EQ(pool.medium().deep_persist(pool.address() + pool_bytes, 64), EIO);
    EXPECT_TRUE(failed(pool.close(), EIO, "at offset 0 durable"));
    const std::size_t dropped = Recorder::instance().count("posix_fadvise");
    EXPECT_GE(dropped, 2U) << "the page cache of a part stays";
    EXPECT_EQ(Recorder::instance().events().size(), calls + dropped) << "something was tried again";
}

TEST_F(FailedMedium, LeavesADirtyPoolThatIsReadFromTheMedium) {
    auto pool = value_of(create("set", pool_bytes, with_shutdown_state()));
    std::fill_n(pool.address() + 4096, MiB, std::byte{1});
    Recorder::instance().fail({"pmem_msync", "", 1, EIO});
    EXPECT_EQ(pool.medium().persist(pool.address() + 8192, 64), EIO);
    EXPECT_EQ(pool.medium().persist(pool.address() + 4 * MiB, 64), EIO) << "in the other part";
    const auto failure = pool.medium_failure();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->part, part("part0").native());
    EXPECT_EQ(failure->offset, 8192U);
    EXPECT_GT(cached_pages("part0"), 0U);
    EXPECT_TRUE(failed(pool.close(), EIO, "64 bytes at offset 8192"));
    if (!is_in_memory()) {
        EXPECT_EQ(cached_pages("part0"), 0U);
    }
    EXPECT_EQ(header_of(read_file(part("part0"))).shutdown_state.dirty, 1);
}

TEST_F(FailedMedium, APoolIsKeptOutOfCoreDumps) {
    auto pool = value_of(create("set", pool_bytes, with_shutdown_state()));
    const std::span<const std::byte> memory(pool.address(), pool_bytes);
    EXPECT_EQ(test::dumped(memory), std::string(pool_bytes / 4096, '-'));
}

// Linux may report a failed write to any one of the syncs that overlap.
TEST(SyncTracker, ASyncThatOverlapsAFailedOneProvesNothing) {
    FailureLatch latch;
    SyncTracker record(latch, "part");
    std::promise<void> first_has_begun;
    std::promise<void> second_is_over;
    auto first = std::async(std::launch::async, [&] {
        return record.run(0, 64, [&] {
            first_has_begun.set_value();
            second_is_over.get_future().wait();
            return EIO; // the failed page may be one of the second sync
        });
    });
    first_has_begun.get_future().wait();
    const int second = record.run(4096, 64, [&] {
        second_is_over.set_value();
        return 0;
    });
    EXPECT_EQ(second, EIO);
    EXPECT_EQ(first.get(), EIO);
    EXPECT_EQ(record.run(8192, 64, []() -> int { throw std::runtime_error("asked again"); }), EIO);
}

// If other syncs waited for it, a daemon that lacks memory in a sync would never exit, because
// closing the pool syncs again.
TEST(SyncTracker, ASyncThatThrowsIsAwaitedByNobody) {
    FailureLatch latch;
    SyncTracker record(latch, "part");
    EXPECT_THROW(static_cast<void>(record.run(0, 1, []() -> int { throw std::bad_alloc(); })),
                 std::bad_alloc);
    EXPECT_EQ(record.run(0, 1, [] { return 0; }), 0);
}

TEST(SyncTracker, ManyAtATimeReturn) {
    FailureLatch latch;
    SyncTracker record(latch, "part");
    std::vector<std::future<bool>> threads;
    for (int i = 0; i < 100; ++i)
        threads.push_back(std::async(std::launch::async, [&] {
            bool good = true;
            for (int round = 0; round < 100; ++round)
                good = record.run(0, 64,
                                  [] {
                                      ::usleep(10);
                                      return 0;
                                  }) == 0 &&
                       good;
            return good;
        }));
    for (auto& thread : threads)
        EXPECT_TRUE(thread.get());
}

} // namespace
} // namespace rpmem::target
