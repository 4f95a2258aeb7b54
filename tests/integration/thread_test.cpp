// SPDX-License-Identifier: BSD-3-Clause
// Tests the threads of the real daemon: one for the control channel, one for the heartbeats, and
// one for each worker that has a lane. /proc shows them. A thread that starts too early or never,
// or a control channel or signal that is not served while a lane is busy, makes a test fail.
#include "tests/integration/environment.hpp"

#include <unistd.h>

namespace rpmem::test {
namespace {

using Clock = std::chrono::steady_clock;

#ifdef __SANITIZE_THREAD__
constexpr unsigned others = 2; // the heartbeats, and a thread of ThreadSanitizer
#else
constexpr unsigned others = 1; // the heartbeats
#endif

constexpr unsigned workers = 3;
// Workers spin for a second, so that they never sleep under load.
constexpr const char* spinning = "--spin-time 1000000";
// This is less than the spin time, and more than a busy machine usually needs.
constexpr std::chrono::milliseconds soon(800);

class Threads : public PoolTest {
protected:
    Threads() { set_daemon_on_memory("--nthreads " + std::to_string(workers)); }

    // Makes the daemon treat the pool as persistent memory.
    void set_daemon_on_memory(const std::string& options) const {
        set_daemon(options, "PMEM_IS_PMEM_FORCE=1");
    }

    // Waits for threads that the daemon starts with and that end soon.
    void expect_threads(unsigned expected) const {
        for (int i = 0; i < 1000 && threads_of_daemon() > expected + others; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(threads_of_daemon(), expected + others);
    }

    static Clock::duration time_to_set(RPMEMpool* pool, const rpmem_pool_attr& attributes) {
        const auto start = Clock::now();
        EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes)));
        return Clock::now() - start;
    }
};

// Persists with lane 0 repeatedly until a persist fails or stop() is called.
class Load {
public:
    explicit Load(RPMEMpool* pool) : pool_(pool), thread_([this] { run(); }) {}
    ~Load() { stop(); }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    void stop() {
        stopping_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] unsigned persists() const { return persists_; }
    [[nodiscard]] int error() const { return error_; } // 0: none has failed
    // Returns after 100 more persists, or after a failure.
    void await_more() const {
        for (const unsigned before = persists_; persists_ < before + 100 && error_ == 0;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

private:
    void run() {
        while (!stopping_ && error_ == 0) {
            if (rpmem_persist(pool_, header_size, 64, 0, 0) != 0)
                error_ = errno;
            ++persists_;
        }
    }

    RPMEMpool* pool_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> persists_ = 0;
    std::atomic<int> error_ = 0;
    std::thread thread_;
};

TEST_F(Threads, AWorkerHasOneFromItsFirstLaneOn) {
    RPMEMpool* pool = created(2 * workers);
    ASSERT_EQ(lanes_in_force, 2 * workers);
    constexpr std::size_t share = mebibyte;
    const auto persist = [&](unsigned lane) {
        const std::size_t offset = header_size + lane * share;
        ASSERT_TRUE(succeeded(rpmem_persist(pool, offset, share, lane, 0)));
        expect_replicated(offset, share);
    };
    local.fill(5);
    persist(0);
    expect_threads(2);
    persist(workers); // of the same worker
    expect_threads(2);
    persist(1);
    expect_threads(3);
    persist(workers + 1);
    expect_threads(3);
    persist(2);
    expect_threads(4);
    local.fill(6);
    for (const unsigned lane : {0U, 1U, 2U, workers, workers + 1})
        persist(lane);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, (workers + 2) * share);
}

TEST_F(Threads, AnotherLaneWorksBesideOneThatIsBusy) {
    RPMEMpool* pool = created(2);
    local.fill(8);
    Load load(pool);
    load.await_more();
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 2 * header_size, mebibyte, 1, 0)));
    expect_threads(3);
    load.await_more();
    load.stop();
    EXPECT_EQ(load.error(), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 64);
    expect_replicated(2 * header_size, mebibyte);
}

TEST_F(Threads, TheControlChannelIsAnsweredUnderLoad) {
    set_daemon_on_memory(spinning);
    RPMEMpool* pool = created();
    rpmem_pool_attr attributes = sample_attributes();
    Load load(pool);
    std::vector<Clock::duration> times;
    for (unsigned char i = 1; i <= 21; ++i) {
        load.await_more();
        attributes.user_flags[0] = i;
        times.push_back(time_to_set(pool, attributes));
    }
    std::sort(times.begin(), times.end());
    EXPECT_LT(times[times.size() / 2], soon);
    expect_threads(2);
    load.await_more();
    load.stop();
    EXPECT_EQ(load.error(), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 64);

    rpmem_pool_attr seen{};
    pool = opened(1, &seen);
    EXPECT_EQ(std::memcmp(&seen, &attributes, sizeof(seen)), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// A worker that spins for its lane must not delay the control channel.
TEST_F(Threads, TheControlChannelIsAnsweredWhileALaneIsAwaited) {
    set_daemon_on_memory(spinning);
    RPMEMpool* pool = created();
    const rpmem_pool_attr attributes = sample_attributes();
    Clock::duration least = std::chrono::hours(1);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, 64, 0, 0)));
        least = std::min(least, time_to_set(pool, attributes));
    }
    EXPECT_LT(least, soon);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Threads, ASignalEndsTheSessionUnderLoad) {
    set_daemon_on_memory(spinning);
    RPMEMpool* pool = created();
    Load load(pool);
    load.await_more();
    expect_threads(2);
    ASSERT_EQ(::kill(daemon_process(), SIGTERM), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
    for (int i = 0; i < 1000 && load.error() == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(load.error(), ECONNRESET);
    load.stop();
    EXPECT_TRUE(contains(daemon_log(), "ended by a signal, SIG"));
    EXPECT_NE(rpmem_close(pool), 0);
    expect_replicated(header_size, 64);
}

} // namespace
} // namespace rpmem::test
