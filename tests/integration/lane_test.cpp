// Lanes between two peers that know the hello.
#include "tests/integration/environment.hpp"

#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::test {
namespace {

constexpr std::size_t header = 4096;

class Lanes : public TargetTest {
protected:
    void SetUp() override { write_simple_pool_set(16); }
    // A pool whose lane is connected, a target that stands still, and bytes that it has not had.
    RPMEMpool* create_and_stop_target() {
        RPMEMpool* pool = create(local, 1);
        if (pool) {
            EXPECT_EQ(rpmem_persist(pool, header, 64, 0, 0), 0) << rpmem_errormsg();
            stop_daemon();
            local.fill(9);
        }
        return pool;
    }
    [[nodiscard]] bool is_connected(unsigned lane) const {
        return daemon_log().find("lane " + std::to_string(lane) + " of ") != std::string::npos;
    }

    LocalPool local{16 * mebibyte};
};

std::size_t own_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Lanes, AreConnectedOnFirstUse) {
    set_daemon("");
    RPMEMpool* pool = create(local, 1024);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(lanes_in_force, 1024U);
    local.fill(7);
    EXPECT_EQ(rpmem_drain(pool, 500, 0), 0) << rpmem_errormsg();
    EXPECT_FALSE(is_connected(500)) << "there was nothing to wait for";

    const std::vector<unsigned> used{1023, 500, 7, 0, 33, 34, 35, 36};
    const std::size_t share = (local.size() - header) / used.size() / 8 * 8;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < used.size(); ++i)
        threads.emplace_back([&, i] {
            for (int again = 0; again < 3; ++again)
                EXPECT_EQ(rpmem_persist(pool, header + i * share, share, used[i], 0), 0)
                    << rpmem_errormsg();
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_LE(threads_of_daemon(), std::thread::hardware_concurrency() + 3);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    for (const unsigned lane : used)
        EXPECT_TRUE(is_connected(lane)) << lane;
    EXPECT_FALSE(is_connected(501));
    EXPECT_EQ(std::memcmp(part(0).data() + header, local.data() + header, share * used.size()), 0);
}

// More flushes than messages may be in flight, of every size that takes another path: copied into
// the message, sent from the pool, streamed, cut into several messages.
TEST_F(Lanes, FlushesAreInOrderAndWholeAfterDrain) {
    set_daemon("");
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    local.fill(11);
    std::vector<std::byte> expected(local.size());
    std::size_t offset = header + 3;
    for (std::size_t i = 0; offset + 700'000 < local.size(); ++i) {
        const std::size_t length = (i * 37) % 101 == 0 ? 699'999 : 1 + (i * i * 29) % 5000;
        ASSERT_EQ(rpmem_flush(pool, offset, length, 0, i % 3 == 0 ? RPMEM_FLUSH_RELAXED : 0), 0)
            << rpmem_errormsg();
        std::memcpy(expected.data() + offset, local.data() + offset, length);
        offset += length + i % 11;
    }
    ASSERT_EQ(rpmem_drain(pool, 0, 0), 0) << rpmem_errormsg();
    const auto seen = part(0); // while the pool is open: nothing but drain can have brought it
    EXPECT_EQ(std::memcmp(seen.data() + header, expected.data() + header, offset - header), 0);

    // The same bytes many times: the last flush decides.
    for (std::uint64_t value = 1; value <= 500; ++value) {
        std::memcpy(local.data() + header, &value, sizeof(value));
        ASSERT_EQ(rpmem_flush(pool, header, sizeof(value), 0, 0), 0) << rpmem_errormsg();
    }
    ASSERT_EQ(rpmem_drain(pool, 0, 0), 0) << rpmem_errormsg();
    std::uint64_t last = 0;
    std::memcpy(&last, part(0).data() + header, sizeof(last));
    EXPECT_EQ(last, 500U);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// The ranges of a message are not overwritten by those of a later one while it is on its way:
// behind more than any socket takes.
TEST_F(Lanes, SmallFlushesWaitForATargetThatStandsStill) {
    RPMEMpool* pool = create_and_stop_target();
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    std::thread later([this, own = ::gettid()] {
        EXPECT_TRUE(falls_asleep(own)) << "the flushes did not wait";
        EXPECT_EQ(::kill(daemon_process(), SIGCONT), 0);
    });
    constexpr std::size_t large = 14 * mebibyte;
    constexpr std::size_t small = 4096;
    EXPECT_EQ(rpmem_flush(pool, header, large, 0, 0), 0) << rpmem_errormsg();
    for (std::size_t offset = header + large; offset < local.size(); offset += small)
        EXPECT_EQ(rpmem_flush(pool, offset, small, 0, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_drain(pool, 0, 0), 0) << rpmem_errormsg();
    later.join();
    EXPECT_EQ(std::memcmp(part(0).data() + header, local.data() + header, local.size() - header),
              0);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// What is sent is the memory of the application, which may change meanwhile: a checksum over it, or
// a second look at it, would end the lane.
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
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    auto* const words = reinterpret_cast<std::uint64_t*>(local.data() + header);
    std::atomic<bool> over = false;
    std::thread stores([&] {
        for (std::uint64_t value = 1; !over; ++value)
            for (int i = 0; i < 8; ++i)
                std::atomic_ref(words[i]).store(value, std::memory_order_relaxed);
    });
    int failed = 0;
    for (int i = 0; i < persists && failed == 0; ++i)
        failed = rpmem_persist(pool, header, 64, 0, 0);
    over = true;
    stores.join();
    EXPECT_EQ(failed, 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_persist(pool, header, 64, 0, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(part(0).data() + header, words, 64), 0);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// RPMEM_PEER_TIMEOUT, and RPMEM_TEST_STALL seconds that are longer: the target's kernel goes on
// acknowledging what its daemon does not take.
class StalledTarget : public Lanes {};

TEST_F(StalledTarget, IsNotASilentOne) {
    set_daemon(std::string("--peer-timeout ") + variable("RPMEM_PEER_TIMEOUT"));
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    for (const unsigned lane : {0U, 1U})
        ASSERT_EQ(rpmem_persist(pool, header, 64, lane, 0), 0) << rpmem_errormsg();
    stop_daemon();
    local.fill(9);
    std::thread later([this] {
        // The test is about a target that is silent for so long.
        std::this_thread::sleep_for(std::chrono::seconds(std::stoi(variable("RPMEM_TEST_STALL"))));
        EXPECT_EQ(::kill(daemon_process(), SIGCONT), 0);
    });
    // As much as there are credits for, and more.
    constexpr std::size_t piece = 32768;
    for (std::size_t offset = header; offset + piece <= local.size(); offset += piece)
        EXPECT_EQ(rpmem_flush(pool, offset, piece, (offset / piece) % 2, 0), 0) << rpmem_errormsg();
    for (const unsigned lane : {0U, 1U})
        EXPECT_EQ(rpmem_drain(pool, lane, 0), 0) << rpmem_errormsg();
    later.join();
    const std::size_t sent = (local.size() - header) / piece * piece;
    EXPECT_EQ(std::memcmp(part(0).data() + header, local.data() + header, sent), 0);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// An application with one thread keeps it so: everything is quicker for such a process.
TEST_F(Lanes, NeedNoThreadHere) {
    const std::size_t before = own_threads();
    set_daemon("");
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    for (const unsigned lane : {0U, 1U})
        ASSERT_EQ(rpmem_persist(pool, header, 64, lane, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(own_threads(), before);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_EQ(own_threads(), before);
}

// In a process of its own: libc does not forget that there was another thread once.
class OneThread : public Lanes {};

TEST_F(OneThread, OpensAPoolAlone) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ASSERT_TRUE(__libc_single_threaded) << "the test itself has started a thread";
#endif
    const bool alone = __libc_single_threaded;
    set_daemon("");
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_persist(pool, header, 64, 0, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(static_cast<bool>(__libc_single_threaded), alone);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// A lane that lacks descriptors, at whatever point of its making, says so, keeps none, harms no
// other, and can be used later.
TEST_F(Lanes, DescriptorsRunOut) {
    set_daemon("");
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    local.fill(3);
    ASSERT_EQ(rpmem_persist(pool, header, 64, 0, 0), 0) << rpmem_errormsg();
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
        is_used = rpmem_persist(pool, header + 64, 64, 1, 0) == 0;
        const int code = errno;
        const std::string text = rpmem_errormsg();
        EXPECT_EQ(rpmem_persist(pool, header, 64, 0, 0), 0) << rpmem_errormsg();
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (is_used)
            break;
        ASSERT_LT(room, 20U) << text;
        EXPECT_EQ(code, EMFILE) << room << ": " << text;
        const std::string limit = std::to_string(low.rlim_cur) + " (ulimit -n";
        EXPECT_NE(text.find(limit), std::string::npos) << room << ": " << text;
        EXPECT_EQ(open_descriptors(), before) << room << ": " << text;
    }
    EXPECT_EQ(room, 1U) << "a lane takes one descriptor";
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(part(0).data() + header, local.data() + header, 128), 0);
}

} // namespace
} // namespace rpmem::test
