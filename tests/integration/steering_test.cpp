// SPDX-License-Identifier: BSD-3-Clause
// rpmemctl pause, resume and rate with a program that runs: this one, with RPMEM_ON_LOSS=alone, a
// real sshd and a real daemon. The real rpmemctl steers it. The test fails if a call fails while
// the pool is paused, if the target gets a byte meanwhile or takes the end of the session for a
// close, if a byte is missing after the pool was resumed, or if a rate has no effect.
#include "tests/integration/alone_pool.hpp"

#include <sys/wait.h>

namespace rpmem::test {
namespace {

class Steered : public AwayTest {
protected:
    // Runs `rpmemctl VERB PID:pool.set ARGUMENT`. Returns its exit status, and its output in
    // output_.
    int ctl(const std::string& verb, const std::string& argument = "",
            const std::string& pool = "pool.set") {
        const fs::path file = directory() / "output";
        const std::string command = std::string(variable("RPMEM_TEST_CTL")) + " " + verb + " " +
                                    std::to_string(::getpid()) + ":" + pool + " " + argument +
                                    " >" + file.native() + " 2>&1";
        const int status = std::system(command.c_str());
        output_ = read_file(file);
        return WEXITSTATUS(status);
    }
    static std::uint32_t state_of(RPMEMpool* pool) {
        rpmem_pool_stats stats{};
        stats.version = RPMEM_STATS_VERSION;
        EXPECT_TRUE(succeeded(rpmem_stats(pool, &stats)));
        return stats.state;
    }
    static testing::AssertionResult comes_to(RPMEMpool* pool, std::uint32_t state) {
        for (const auto end = Clock::now() + std::chrono::seconds(100); Clock::now() < end;) {
            if (state_of(pool) == state)
                return testing::AssertionSuccess();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return testing::AssertionFailure() << "state " << state_of(pool) << ", not " << state;
    }
    [[nodiscard]] bool record_says_closed() const {
        EXPECT_TRUE(contains(record(), "\"closed\":"));
        return record().find("\"closed\":false") == std::string::npos;
    }
    void expect_all_replicated() const {
        expect_replicated(header_size, local.size() - header_size);
    }
    // Pauses the pool, and changes all of it. Then lets it catch up at RATE, and returns the time
    // until it is in sync.
    Clock::duration time_at_rate(RPMEMpool* pool, std::uint64_t seed, const std::string& rate) {
        EXPECT_EQ(ctl("pause"), 0) << output_;
        local.fill(seed);
        EXPECT_TRUE(succeeded(persist_all(pool)));
        EXPECT_EQ(ctl("rate", rate), 0) << output_;
        const auto began = Clock::now();
        EXPECT_EQ(ctl("resume"), 0) << output_;
        EXPECT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED));
        return Clock::now() - began;
    }

    std::string output_;
};

TEST_F(Steered, APausedPoolGoesOnWithoutItsTarget) {
    RPMEMpool* const pool = filled(2);
    ASSERT_EQ(ctl("pause"), 0) << output_;
    EXPECT_TRUE(contains(output_, "paused: "));
    EXPECT_EQ(state_of(pool), RPMEM_LINK_PAUSED);
    ASSERT_TRUE(part_gets_unlocked(0)) << "the session has not ended";
    EXPECT_FALSE(record_says_closed()) << "the target takes the pause for a close";
    EXPECT_TRUE(contains(daemon_log(), "the channel was closed without CLOSE"));
    EXPECT_TRUE(record_says("alone_since"));
    const auto before = part(0);
    local.fill(2);
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_flush(pool, 3 * mebibyte, 64, 1, 0)));
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 1, 0)));
    EXPECT_TRUE(succeeded(rpmem_deep_persist(pool, 5 * mebibyte, 64, 0)));
    EXPECT_LT(Clock::now() - began, std::chrono::milliseconds(300)) << "a call waited";
    std::byte byte{};
    EXPECT_TRUE(failed(rpmem_read(pool, &byte, 8192, 1, 0), ENOTCONN, "paused by an operator"));
    EXPECT_EQ(ctl("pause"), 0) << "the second pause: " << output_;
    // The target is there all the time, and a pool that is only away would reach it.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    EXPECT_EQ(part(0), before) << "the target was sent bytes";
    EXPECT_EQ(state_of(pool), RPMEM_LINK_PAUSED);
    ASSERT_EQ(ctl("resume"), 0) << output_;
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED));
    expect_replicated(8192, 100);
    expect_replicated(3 * mebibyte, 64);
    expect_replicated(5 * mebibyte, 64);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    expect_all_replicated();
    EXPECT_EQ(ctl("resume"), 0) << "the second resume: " << output_;
    EXPECT_EQ(state_of(pool), RPMEM_LINK_CONNECTED);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(record_says_closed());
}

// The target is alive and does not respond, so a call waits in its lane, for up to
// RPMEM_OPERATION_TIMEOUT (120 s).
TEST_F(Steered, APauseReleasesACallThatWaits) {
    RPMEMpool* const pool = filled();
    local.fill(7);
    stop_daemon();
    std::atomic<bool> has_ended = false;
    int status = -1;
    std::thread call([&] {
        status = rpmem_persist(pool, 8192, 100, 0, 0);
        has_ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(has_ended) << "this test cannot fail";
    const auto began = Clock::now();
    EXPECT_EQ(ctl("pause"), 0) << output_;
    call.join();
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(30));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(state_of(pool), RPMEM_LINK_PAUSED);
    EXPECT_EQ(ctl("resume"), 0) << output_;
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED)); // the next daemon ends the stopped one
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// Calls of three threads are at every point of their way when the pool is paused and resumed.
TEST_F(Steered, NothingIsMissingAfterPauses) {
    constexpr unsigned lanes = 3;
    RPMEMpool* const pool = filled(lanes);
    std::atomic<bool> is_over = false;
    std::atomic<unsigned> failures = 0;
    std::vector<std::thread> programs;
    const std::size_t share = local.size() / (lanes + 1) & ~std::size_t{4095};
    for (unsigned lane = 0; lane < lanes; ++lane)
        programs.emplace_back([&, lane] {
            std::uint64_t number = lane;
            while (!is_over) {
                number = number * 6364136223846793005U + 1442695040888963407U;
                const std::size_t at = (lane + 1) * share + (number >> 20) % (share - 4096) / 8 * 8;
                std::atomic_ref(*reinterpret_cast<std::uint64_t*>(local.data() + at))
                    .store(number, std::memory_order_relaxed);
                failures += rpmem_persist(pool, at, 8, lane, 0) == 0 ? 0 : 1;
            }
        });
    for (int pause = 0; pause < 4; ++pause) {
        EXPECT_EQ(ctl("pause"), 0) << output_;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_EQ(ctl("resume"), 0) << output_;
        if (pause % 2 == 0) { // otherwise it is paused again while it catches up, or before
            EXPECT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED));
        }
    }
    is_over = true;
    for (std::thread& program : programs)
        program.join();
    EXPECT_EQ(failures, 0U) << rpmem_errormsg();
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_all_replicated();
}

// At 1 MB/s, 8 MiB take 8.4 s. A rate that has no effect makes both times equal.
TEST_F(Steered, ARateLimitsTheCatchUp) {
    RPMEMpool* const pool = filled();
    const auto unlimited = time_at_rate(pool, 3, "none");
    const auto limited = time_at_rate(pool, 4, "1000000");
    EXPECT_GT(limited, std::chrono::seconds(6)) << "faster than the rate allows";
    EXPECT_GT(limited, unlimited * 3 / 2);
    expect_all_replicated();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// At 65536 bytes/s, 8 MiB take 2 minutes. A new rate must not wait for the old one.
TEST_F(Steered, APoolThatCatchesUpIsSteered) {
    RPMEMpool* const pool = filled();
    ASSERT_EQ(ctl("pause"), 0) << output_;
    local.fill(5);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    ASSERT_EQ(ctl("rate", "65536"), 0) << output_;
    ASSERT_EQ(ctl("resume"), 0) << output_;
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CATCHING_UP));
    EXPECT_TRUE(record_says("catching_up_since"));
    ASSERT_EQ(ctl("pause"), 0) << output_;
    EXPECT_EQ(state_of(pool), RPMEM_LINK_PAUSED);
    ASSERT_TRUE(part_gets_unlocked(0)) << "the session has not ended";
    EXPECT_TRUE(record_says("catching_up_since")) << "the target's copy is inconsistent";
    ASSERT_EQ(ctl("resume"), 0) << output_;
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CATCHING_UP));
    const auto began = Clock::now();
    ASSERT_EQ(ctl("rate", "none"), 0) << output_;
    ASSERT_TRUE(comes_to(pool, RPMEM_LINK_CONNECTED));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(60)) << "the old rate was kept";
    expect_all_replicated();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Steered, APausedPoolIsClosedAlone) {
    RPMEMpool* const pool = filled();
    ASSERT_EQ(ctl("pause"), 0) << output_;
    local.fill(6);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(3)) << "nobody can resume it in time";
    ASSERT_TRUE(part_gets_unlocked(0));
    EXPECT_TRUE(record_says("alone_since"));
    LocalPool other(local.size());
    EXPECT_TRUE(failed(open(other, 1), ESTALE, "may lack calls that returned 0"));
    RPMEMpool* const again = opened();
    EXPECT_TRUE(succeeded(rpmem_persist(again, mebibyte, 64, 0, 0)));
    EXPECT_TRUE(comes_to(again, RPMEM_LINK_CONNECTED)); // compared by the thread that catches up
    expect_all_replicated();
    EXPECT_TRUE(succeeded(rpmem_close(again)));
}

TEST_F(Steered, AFailedReplicaIsNotSteered) {
    RPMEMpool* const pool = filled();
    ASSERT_EQ(ctl("pause"), 0) << output_;
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 2 * mebibyte, 100, 0, 0)));
    fs::resize_file(directory() / "local", 2 * mebibyte);
    ASSERT_EQ(ctl("resume"), 0) << output_;
    for (int i = 0; i < 500 && !contains(library_log(), "does not try again"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const char* const verb : {"pause", "resume"}) {
        EXPECT_EQ(ctl(verb), 1);
        EXPECT_TRUE(contains(output_, "has failed, and is not tried again"));
    }
    fs::resize_file(directory() / "local", local.size());
    EXPECT_EQ(state_of(pool), RPMEM_LINK_AWAY);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Steered, ARefusalSaysWhatToDo) {
    ASSERT_TRUE(succeeded(rpmem_close(filled())));
    RPMEMpool* const pool = opened();
    EXPECT_EQ(ctl("pause"), 1);
    EXPECT_TRUE(contains(output_, "its first write must have returned"));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 64, 0, 0)));
    EXPECT_EQ(ctl("pause", "", "other.set"), 1);
    EXPECT_TRUE(contains(output_, "has no pool other.set; its pools are"));
    EXPECT_EQ(state_of(pool), RPMEM_LINK_CONNECTED);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_EQ(ctl("pause"), 1);
    EXPECT_TRUE(contains(output_, "has no open pool"));
}

} // namespace
} // namespace rpmem::test
