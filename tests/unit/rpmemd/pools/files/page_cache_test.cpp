// SPDX-License-Identifier: BSD-3-Clause
// Tests has_cached_pages() with the page cache of the kernel and a file of 1 TiB, and the recorder
// for posix_fadvise(2). The test fails if a cached page is missed or reported wrongly, if a large
// sparse file takes long, or if the recorder returns errors otherwise than the C library.
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/page_cache.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/recorder/recorder.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string>

namespace rpmem::target {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;

// cachestat(2) exists since Linux 6.5. The headers of Debian 12 lack it.
bool has_cachestat() { return ::syscall(451L, -1, nullptr, nullptr, 0U) != 0 && errno != ENOSYS; }

double processor_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class PageCache : public testing::Test {
protected:
    void make_file(std::uint64_t size) {
        file_ = UniqueFd(
            ::open((directory_.path() / "part").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        ASSERT_GE(file_.get(), 0);
        if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
            GTEST_SKIP() << "the file system has no files of " << size << " bytes";
    }
    void write_page(std::uint64_t offset) {
        const std::string bytes(page, 'x');
        ASSERT_EQ(::pwrite(file_.get(), bytes.data(), page, static_cast<off_t>(offset)),
                  static_cast<ssize_t>(page));
    }
    void drop() {
        ASSERT_EQ(::fsync(file_.get()), 0);
        ASSERT_EQ(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    }
    // On tmpfs the page cache is the medium and cannot be dropped.
    [[nodiscard]] bool is_in_memory() const {
        struct statfs system {};
        return ::statfs(directory_.path().c_str(), &system) != 0 || system.f_type == TMPFS_MAGIC;
    }

    test::TemporaryDirectory directory_;
    UniqueFd file_;
};

TEST_F(PageCache, KnowsOfOnePage) {
    ASSERT_NO_FATAL_FAILURE(make_file(64 * page));
    EXPECT_FALSE(has_cached_pages(file_.get(), 64 * page));
    write_page(63 * page);
    EXPECT_TRUE(has_cached_pages(file_.get(), 64 * page));
    EXPECT_FALSE(has_cached_pages(file_.get(), 63 * page)) << "what is behind the size counts";
    if (is_in_memory())
        GTEST_SKIP() << "the file system is in memory";
    drop();
    EXPECT_FALSE(has_cached_pages(file_.get(), 64 * page));
}

// posix_fadvise(2) returns the error, and does not set errno.
TEST_F(PageCache, TheRecorderFailsLikePosixFadvise) {
    ASSERT_NO_FATAL_FAILURE(make_file(page));
    auto& recorder = test::Recorder::instance();
    recorder.reset();
    recorder.fail({.call = "posix_fadvise", .path = "part", .number = 1, .code = EIO});
    EXPECT_EQ(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED), EIO);
    EXPECT_EQ(::posix_fadvise(-1, 0, 0, POSIX_FADV_DONTNEED), EBADF);
    const auto events = recorder.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].code, EIO);
    EXPECT_EQ(events[1].code, EBADF);
    recorder.reset();
}

// mincore(2), which visits every page, would take ten seconds.
TEST_F(PageCache, LooksAtWhatIsCachedNotAtTheSize) {
    if (!has_cachestat())
        GTEST_SKIP() << "the kernel has no cachestat(2)";
    ASSERT_NO_FATAL_FAILURE(make_file(tebibyte));
    if (IsSkipped())
        return;
    const double began = processor_seconds();
    EXPECT_FALSE(has_cached_pages(file_.get(), tebibyte));
    write_page(tebibyte - page);
    EXPECT_TRUE(has_cached_pages(file_.get(), tebibyte));
    EXPECT_LT(processor_seconds() - began, 1.0);
}

} // namespace
} // namespace rpmem::target
