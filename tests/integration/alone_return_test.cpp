// SPDX-License-Identifier: BSD-3-Clause
// How a target returns to a program that went on without it: slowly, after it was stopped, or with
// other bytes. Each fixture runs in a process of its own, because the settings are read once. The
// test fails if the record takes an inconsistent replica for a copy, if a limit is exceeded, or if
// a part that somebody else has changed is not compared.
#include "tests/integration/alone_pool.hpp"

namespace rpmem::test {
namespace {

// With an RPMEM_PEER_TIMEOUT of 1 s, a change of a part 3 s after the loss is not the daemon's.
class AloneRestored : public Alone {};

// The marks say nothing about bytes that were replaced meanwhile.
TEST_F(AloneRestored, ABackupThatWasPutOverThePartIsCompared) {
    RPMEMpool* const pool = filled();
    const std::string backup = read_file(directory() / "part0");
    local.fill(21);
    ASSERT_TRUE(succeeded(persist_all(pool)));
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    std::fstream(directory() / "part0", std::ios::in | std::ios::out) << backup;
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(contains(library_log(), "its parts were changed while it was away"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(AloneRestored, PartsThatNobodyHasChangedAreNotCompared) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    set_daemon("");
    const std::size_t logged = library_log().size();
    ASSERT_TRUE(joins(pool));
    EXPECT_FALSE(contains(library_log().substr(logged), "its parts were changed"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// With an RPMEM_CATCH_UP_RATE of 1.5 MB/s, 8 MiB take 5.6 s.
class AloneSlowly : public Alone {
protected:
    // Waits for at most 20 s.
    [[nodiscard]] bool gets_inconsistent() const {
        for (int i = 0; i < 1000 && !record_says("catching_up_since"); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return record_says("catching_up_since");
    }
};

// Whoever finds the pool after a crash of both machines must know that it is no copy.
TEST_F(AloneSlowly, TheRecordSaysThatTheReplicaIsInconsistent) {
    RPMEMpool* const pool = filled();
    EXPECT_TRUE(record_says("alone_since"));
    take_away();
    local.fill(6);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_FALSE(record_says("catching_up_since"));
    const auto began = Clock::now();
    set_daemon("");
    ASSERT_TRUE(gets_inconsistent());
    EXPECT_NE(std::memcmp(part(0).data() + header_size, local.data() + header_size,
                          local.size() - header_size),
              0)
        << "this test cannot fail: everything is there already";
    std::byte byte{};
    EXPECT_TRUE(failed(rpmem_read(pool, &byte, 8192, 1, 0), ENOTCONN));
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0); // a second loss
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    ASSERT_TRUE(joins(pool));
    EXPECT_GT(Clock::now() - began, std::chrono::seconds(3)) << "faster than the limit allows";
    EXPECT_TRUE(record_gets_in_sync());
    EXPECT_TRUE(record_says("alone_since"));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_FALSE(record_says("alone_since"));
}

// The thread may be in a transfer or a pause.
TEST_F(AloneSlowly, CloseEndsACatchUp) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(persist_all(pool)));
    set_daemon("");
    ASSERT_TRUE(gets_inconsistent());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_TRUE(succeeded(persist_all(pool))); // so that 4 s more are not enough
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(10));
    EXPECT_TRUE(contains(library_log(), "is closed without its replica"));
    EXPECT_TRUE(record_says("catching_up_since"));
}

// With an RPMEM_RECONNECT_TIMEOUT of 0 and an RPMEM_OPERATION_TIMEOUT of 1 s, a target that is
// alive and does not respond is left at once.
class AloneAtOnce : public Alone {};

TEST_F(AloneAtOnce, AStoppedTargetIsLeft) {
    RPMEMpool* const pool = filled();
    stop_daemon();
    local.fill(11);
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(10));
    ASSERT_TRUE(joins(pool)); // the next daemon ends the stopped one
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
