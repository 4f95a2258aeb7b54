// SPDX-License-Identifier: BSD-3-Clause
// RPMEM_ON_LOSS=wait: a call on a lost session waits until the target is back, however long that
// takes. Each test runs with a real sshd and daemon, and with an RPMEM_RECONNECT_TIMEOUT of 1 s,
// which is over long before the target is back. So a call that kept this limit would fail the test.
#include "tests/integration/promised_time.hpp"

#include <thread>

namespace rpmem::test {
namespace {

class Waits : public PoolTest {
protected:
    [[nodiscard]] int persist_all(RPMEMpool* pool) const {
        return rpmem_persist(pool, header_size, local.size() - header_size, 0, 0);
    }
    RPMEMpool* filled() {
        RPMEMpool* const pool = created(1);
        EXPECT_TRUE(succeeded(persist_all(pool)));
        return pool;
    }
};

TEST_F(Waits, UntilTheTargetIsBack) {
    constexpr std::chrono::seconds away(15); // two lines of the log
    RPMEMpool* const pool = filled();
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    set_command("echo closed for a while >&2; exit 127");
    std::thread operator_there([&] {
        std::this_thread::sleep_for(away);
        set_daemon("");
    });
    local.fill(5);
    {
        const PromisedTime time;
        EXPECT_TRUE(succeeded(persist_all(pool)));
    }
    operator_there.join();
    expect_replicated(header_size, local.size() - header_size);
    const std::string log = library_log();
    const std::string line = "calls wait until it is back (RPMEM_ON_LOSS=wait)";
    const std::size_t first = log.find(line);
    ASSERT_NE(first, std::string::npos) << log;
    EXPECT_NE(log.find(line, first + 1), std::string::npos) << log;
    EXPECT_TRUE(contains(log, "closed for a while"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// RPMEM_OPERATION_TIMEOUT=1000: the daemon is alive, and its sync takes far longer. With
// RPMEM_ON_LOSS=fail the call would fail.
TEST_F(Waits, ForAStalledMedium) {
    set_daemon("", std::string("LD_PRELOAD=") + variable("RPMEM_TEST_FAILING_DISK") +
                       " FAILING_DISK_PART=part0 FAILING_DISK_NUMBER=2 FAILING_DISK_OFFSET=4096" +
                       " ASAN_OPTIONS=verify_asan_link_order=0 FAILING_DISK_STALL=60000");
    RPMEMpool* const pool = filled();
    const pid_t stalled = daemon_process();
    set_daemon(""); // the next one
    local.fill(6);
    {
        const PromisedTime time;
        EXPECT_TRUE(succeeded(persist_all(pool)));
    }
    EXPECT_NE(daemon_process(), stalled);
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
