// SPDX-License-Identifier: BSD-3-Clause
// Tests lanes of the current protocol between the real library and the real daemon: that they
// connect on first use, keep the order of flushes, wait for a target that is stopped or whose
// medium stalls, and need one thread and one descriptor. Lost, reordered or duplicated ranges, a
// timeout of a target that is alive, or leaked threads and descriptors make a test fail.
#include "tests/integration/environment.hpp"

#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <unistd.h>

namespace rpmem::test {
namespace {

class Lanes : public PoolTest {
protected:
    Lanes() : PoolTest(16) {}
    // Creates a pool with a connected lane, stops the daemon, and changes the local bytes.
    RPMEMpool* create_and_stop_target() {
        RPMEMpool* pool = created();
        EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
        stop_daemon();
        local.fill(9);
        return pool;
    }
    [[nodiscard]] bool is_connected(unsigned lane) const {
        return daemon_log().find("lane " + std::to_string(lane) + " of ") != std::string::npos;
    }
};

std::size_t own_threads() {
    const fs::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Lanes, AreConnectedOnFirstUse) {
    RPMEMpool* pool = created(1024);
    EXPECT_EQ(lanes_in_force, 1024U);
    local.fill(7);
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 500, 0)));
    EXPECT_FALSE(is_connected(500)) << "there was nothing to wait for";

    const std::vector<unsigned> used{1023, 500, 7, 0, 33, 34, 35, 36};
    const std::size_t share = (local.size() - header_size) / used.size() / 8 * 8;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < used.size(); ++i)
        threads.emplace_back([&, i] {
            for (int again = 0; again < 3; ++again)
                EXPECT_TRUE(
                    succeeded(rpmem_persist(pool, header_size + i * share, share, used[i], 0)));
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_LE(threads_of_daemon(), std::thread::hardware_concurrency() + 3);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    for (const unsigned lane : used)
        EXPECT_TRUE(is_connected(lane)) << lane;
    EXPECT_FALSE(is_connected(501));
    expect_replicated(header_size, share * used.size());
}

// There are more flushes than messages in flight, with sizes for each path: copied into the
// message, sent from the pool, streamed, and split into several messages.
TEST_F(Lanes, FlushesAreInOrderAndWholeAfterDrain) {
    RPMEMpool* pool = created();
    local.fill(11);
    std::vector<std::byte> expected(local.size());
    std::size_t offset = header_size + 3;
    for (std::size_t i = 0; offset + 700'000 < local.size(); ++i) {
        const std::size_t length = (i * 37) % 101 == 0 ? 699'999 : 1 + (i * i * 29) % 5000;
        ASSERT_TRUE(
            succeeded(rpmem_flush(pool, offset, length, 0, i % 3 == 0 ? RPMEM_FLUSH_RELAXED : 0)));
        std::memcpy(expected.data() + offset, local.data() + offset, length);
        offset += length + i % 11;
    }
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    const auto seen = part(0); // the pool is still open, so no close has made this durable
    EXPECT_EQ(
        std::memcmp(seen.data() + header_size, expected.data() + header_size, offset - header_size),
        0);

    // The same bytes are flushed many times, and the last flush must win.
    for (std::uint64_t value = 1; value <= 500; ++value) {
        std::memcpy(local.data() + header_size, &value, sizeof(value));
        ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size, sizeof(value), 0, 0)));
    }
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    std::uint64_t last = 0;
    std::memcpy(&last, part(0).data() + header_size, sizeof(last));
    EXPECT_EQ(last, 500U);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// Ranges of a message that waits to be sent must not be overwritten by later ranges. The first
// flush is larger than the buffers of any socket, so the later ones have to wait.
TEST_F(Lanes, SmallFlushesWaitForATargetThatStandsStill) {
    RPMEMpool* pool = create_and_stop_target();
    std::thread later([this, own = ::gettid()] {
        EXPECT_TRUE(falls_asleep(own)) << "the flushes did not wait";
        EXPECT_EQ(::kill(daemon_process(), SIGCONT), 0);
    });
    constexpr std::size_t large = 14 * mebibyte;
    constexpr std::size_t small = 4096;
    EXPECT_TRUE(succeeded(rpmem_flush(pool, header_size, large, 0, 0)));
    for (std::size_t offset = header_size + large; offset < local.size(); offset += small)
        EXPECT_TRUE(succeeded(rpmem_flush(pool, offset, small, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    later.join();
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The library sends the application's memory without a copy, and the application may change it
// meanwhile. If the library read it twice, for example for a checksum, the lane would fail.
TEST_F(Lanes, StoresIntoTheRangeDuringPersistsLoseNothing) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "a race is what it makes";
#endif
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    constexpr int persists = 1'000'000;
#else
    constexpr int persists = 20'000;
#endif
    set_daemon("", "PMEM_IS_PMEM_FORCE=1");
    RPMEMpool* pool = created();
    auto* const words = reinterpret_cast<std::uint64_t*>(local.data() + header_size);
    std::atomic<bool> over = false;
    std::thread stores([&] {
        for (std::uint64_t value = 1; !over; ++value)
            for (int i = 0; i < 8; ++i)
                std::atomic_ref(words[i]).store(value, std::memory_order_relaxed);
    });
    int failed = 0;
    for (int i = 0; i < persists && failed == 0; ++i)
        failed = rpmem_persist(pool, header_size, 64, 0, 0);
    over = true;
    stores.join();
    EXPECT_EQ(failed, 0) << rpmem_errormsg();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
    EXPECT_EQ(std::memcmp(part(0).data() + header_size, words, 64), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// A sync takes RPMEM_TEST_STALL milliseconds, longer than the peer timeout. The session must not
// time out, because the daemon's heartbeats continue during the sync.
class StalledMedium : public Lanes {};

TEST_F(StalledMedium, IsNoSilentTarget) {
    set_daemon(std::string("--peer-timeout ") + variable("RPMEM_PEER_TIMEOUT"),
               std::string("LD_PRELOAD=") + variable("RPMEM_TEST_FAILING_DISK") +
                   " FAILING_DISK_PART=part0 FAILING_DISK_NUMBER=2 FAILING_DISK_OFFSET=4096" +
                   " ASAN_OPTIONS=verify_asan_link_order=0 FAILING_DISK_STALL=" +
                   variable("RPMEM_TEST_STALL"));
    RPMEMpool* pool = created(2);
    for (const unsigned lane : {0U, 1U})
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 2 * header_size, 64, lane, 0)));
    const pid_t before = daemon_process();
    local.fill(9);
    // This is more than the credits of the lanes allow to be in flight.
    constexpr std::size_t piece = 32768;
    for (std::size_t offset = header_size; offset + piece <= local.size(); offset += piece)
        EXPECT_TRUE(succeeded(rpmem_flush(pool, offset, piece, (offset / piece) % 2, 0)));
    for (const unsigned lane : {0U, 1U})
        EXPECT_TRUE(succeeded(rpmem_drain(pool, lane, 0)));
    const std::size_t sent = (local.size() - header_size) / piece * piece;
    expect_replicated(header_size, sent);
    EXPECT_EQ(daemon_process(), before);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The library has one thread, for the heartbeats of all pools. It ends with the last pool.
TEST_F(Lanes, NeedOneThreadHere) {
    const std::size_t before = own_threads();
    RPMEMpool* pool = created(2);
    for (const unsigned lane : {0U, 1U})
        ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, lane, 0)));
    EXPECT_EQ(own_threads(), before + 1);
    write_pool_set("other.set", "16M %/other");
    LocalPool second(local.size());
    RPMEMpool* const other = sound(create(second, 1, "other.set"));
    EXPECT_EQ(own_threads(), before + 1);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_EQ(own_threads(), before + 1);
    EXPECT_TRUE(succeeded(rpmem_close(other)));
    EXPECT_EQ(own_threads(), before);
}

// If a lane runs out of descriptors at any point while it connects, the call reports that, leaks
// none, and does not affect other lanes. The lane can be used later.
TEST_F(Lanes, DescriptorsRunOut) {
    RPMEMpool* pool = created(2);
    local.fill(3);
    ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
    const auto before = open_descriptors();
    unsigned room = 0;
    for (bool is_used = false;; ++room) {
        const int next = ::dup(0); // the lowest that is free
        ASSERT_GE(next, 0);
        ::close(next);
        const rlimit low{static_cast<rlim_t>(next) + room, usual.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
        is_used = rpmem_persist(pool, header_size + 64, 64, 1, 0) == 0;
        const int code = errno;
        const std::string text = rpmem_errormsg();
        EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (is_used)
            break;
        ASSERT_LT(room, 20U) << text;
        EXPECT_EQ(code, EMFILE) << room << ": " << text;
        const std::string limit = std::to_string(low.rlim_cur) + " (ulimit -n";
        EXPECT_TRUE(contains(text, limit));
        EXPECT_EQ(open_descriptors(), before) << room << ": " << text;
    }
    EXPECT_EQ(room, 1U) << "a lane takes one descriptor";
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 128);
}

} // namespace
} // namespace rpmem::test
