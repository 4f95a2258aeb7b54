// SPDX-License-Identifier: BSD-3-Clause
// Tests promise 5 of docs/reliability.md with calls that can never succeed: the real daemon dies in
// each sync, memory of the application cannot be read, or the target's file system is full. The
// library can reconnect each time, and the same operation fails again. Without the limit of the
// promise, the calls would never return. A wrong errno or text also fails a test.
#include "common/base/deadline.hpp"
#include "common/base/unique_fd.hpp"
#include "tests/integration/environment.hpp"

#include <sys/mount.h>

namespace rpmem::test {
namespace {

constexpr std::size_t page = 4096;
// RPMEM_RECONNECT_TIMEOUT and RPMEM_PEER_TIMEOUT of these tests, one try, and a margin for other
// tests that run at the same time.
constexpr std::chrono::seconds promised(3 + 4 + 3 + 10);

class Timed {
public:
    ~Timed() { EXPECT_FALSE(deadline_.passed()) << "more than promise 5 allows"; }

private:
    Deadline deadline_{promised};
};

using Call = std::function<int(RPMEMpool*)>;

class Bounds : public PoolTest {};

// rpmem_persist() sends its range again in each session. A flushed range is replayed instead.
TEST_F(Bounds, ADaemonThatDiesInEachSync) {
    constexpr std::size_t at = 16 * page;
    const auto flush = [](RPMEMpool* pool) { return rpmem_flush(pool, at, 64, 0, 0); };
    const std::vector<std::pair<const char*, Call>> calls = {
        {"persist", [](RPMEMpool* pool) { return rpmem_persist(pool, at, 64, 0, 0); }},
        {"drain", [&](RPMEMpool* pool) { return flush(pool) != 0 ? -2 : rpmem_drain(pool, 0, 0); }},
        {"another persist", [&](RPMEMpool* pool) {
             return flush(pool) != 0 ? -2 : rpmem_persist(pool, 2 * at, 64, 0, 0);
         }}};
    for (const auto& [name, call] : calls) {
        SCOPED_TRACE(name);
        set_daemon("", "LD_PRELOAD=" + std::string(variable("RPMEM_TEST_FAILING_DISK")) +
                           " FAILING_DISK_PART=part0 ASAN_OPTIONS=verify_asan_link_order=0 "
                           "FAILING_DISK_NUMBER=1 FAILING_DISK_ENDS=1 FAILING_DISK_OFFSET=" +
                           std::to_string(at));
        fs::remove(directory() / "part0");
        RPMEMpool* const pool = created();
        {
            const Timed timed;
            EXPECT_TRUE(failed(call(pool), ECONNRESET, "led to a session that was lost before"));
        }
        {
            const Timed timed;
            // What has failed stays failed.
            EXPECT_TRUE(failed(rpmem_persist(pool, page, 64, 0, 0), ECONNRESET, "led to a"));
            EXPECT_TRUE(failed(rpmem_close(pool), ECONNRESET, "led to a session"));
        }
        EXPECT_TRUE(part_gets_unlocked(0));
    }
}

TEST_F(Bounds, MemoryOfTheApplicationThatCannotBeRead) {
    RPMEMpool* const pool = created();
    ASSERT_TRUE(succeeded(rpmem_flush(pool, page, 64, 0, 0)));
    ASSERT_EQ(::mprotect(local.data() + 8 * page, page, PROT_NONE), 0);
    {
        const Timed timed;
        EXPECT_TRUE(failed(rpmem_persist(pool, 4 * page, 16 * page, 0, 0), EFAULT,
                           "cannot be read by this process"));
    }
    // Only that call fails, and its ranges are not replayed.
    ASSERT_EQ(::mprotect(local.data() + 8 * page, page, PROT_READ | PROT_WRITE), 0);
    {
        const Timed timed;
        EXPECT_TRUE(succeeded(rpmem_persist(pool, 4 * page, 16 * page, 0, 0)));
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
    }
    EXPECT_EQ(std::memcmp(part(0).data() + 4 * page, local.data() + 4 * page, 16 * page), 0);
    EXPECT_EQ(std::memcmp(part(0).data() + page, local.data() + page, 64), 0) << "was flushed";
}

// The pool is on a small file system that is full. Its part has a hole, so a write there fails.
class FullDisk : public PoolTest {
protected:
    static constexpr std::size_t hole = 4 * mebibyte;

    FullDisk() {
        mounted_ = ::mount("tmpfs", directory().c_str(), "tmpfs", 0, "size=12m,mode=0700") == 0;
        EXPECT_TRUE(mounted_) << strerror(errno) << ": run this through own_mounts.sh";
        write_simple_pool_set(8);
    }
    ~FullDisk() override {
        if (mounted_)
            ::umount2(directory().c_str(), MNT_DETACH);
    }
    void fill() const {
        const UniqueFd file(::open((directory() / "part0").c_str(), O_RDWR | O_CLOEXEC));
        ASSERT_EQ(
            ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, hole, mebibyte), 0);
        const UniqueFd filler(
            ::open((directory() / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        const std::vector<char> bytes(page);
        while (::write(filler.get(), bytes.data(), bytes.size()) > 0) {
        }
        ASSERT_EQ(errno, ENOSPC);
    }

private:
    bool mounted_ = false;
};

TEST_F(FullDisk, IsAFailedMedium) {
    RPMEMpool* const pool = created();
    ASSERT_TRUE(succeeded(rpmem_persist(pool, hole, 64, 0, 0)));
    fill();
    const Timed timed;
    EXPECT_TRUE(failed(rpmem_persist(pool, hole, 64, 0, 0), EIO, strerror(ENOSPC)));
    EXPECT_TRUE(contains(rpmem_errormsg(), "file system or a quota is full"));
    EXPECT_TRUE(contains(rpmem_errormsg(), std::to_string(hole)));
    EXPECT_TRUE(failed(rpmem_persist(pool, page, 64, 0, 0), EIO, strerror(ENOSPC)));
    EXPECT_TRUE(failed(rpmem_close(pool), EIO, strerror(ENOSPC)));
}

} // namespace
} // namespace rpmem::test
