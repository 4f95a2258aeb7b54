// SPDX-License-Identifier: BSD-3-Clause
// A session whose initiator logs in, sends heartbeats, and never requests a pool. Without a limit
// it would keep a daemon for ever. The test takes 2 minutes, the limit of the daemon, and is
// nightly.
#include "tests/hostile/control_session.hpp"

namespace rpmem::hostile {
namespace {

class WithoutAPool : public HostileTest {
protected:
    WithoutAPool() { offer_ = wire::offer_value; }
};

TEST_F(WithoutAPool, HeartbeatsDoNotKeepTheSession) {
    DaemonProcess daemon(directory_.daemon_arguments(), directory_.path(), loopback_connection,
                         wire::offer_value);
    ControlSession control(daemon);
    ASSERT_EQ(control.log_in(), wire::Status::success);
    constexpr std::chrono::seconds limit(120);
    constexpr std::chrono::seconds busy(20); // other tests run beside this one
    const auto began = Deadline::Clock::now();
    while (control.beat() && Deadline::Clock::now() - began < limit + busy)
        std::this_thread::sleep_for(std::chrono::milliseconds(200)); // the rate of heartbeats
    EXPECT_GE(Deadline::Clock::now() - began, limit);
    const Ending ending = daemon.wait();
    EXPECT_TRUE(ending.in_time && !ending.by_signal);
    EXPECT_TRUE(test::contains(ending.error_text, "has not requested a pool within 120000 ms"));
}

} // namespace
} // namespace rpmem::hostile
