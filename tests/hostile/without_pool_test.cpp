// SPDX-License-Identifier: BSD-3-Clause
// Tests a session with the real daemon whose initiator logs in, sends heartbeats, and never
// requests a pool. The test fails if that session lives longer than the limit of 2 minutes, or ends
// before it. It takes 2 minutes and is therefore nightly.
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
    constexpr std::chrono::seconds busy(20); // slack, because other tests run at the same time
    const auto began = Deadline::Clock::now();
    while (control.beat() && Deadline::Clock::now() - began < limit + busy)
        std::this_thread::sleep_for(std::chrono::milliseconds(200)); // more often than an initiator
    EXPECT_GE(Deadline::Clock::now() - began, limit);
    const Ending ending = daemon.wait();
    EXPECT_TRUE(ending.in_time && !ending.by_signal);
    EXPECT_TRUE(test::contains(ending.error_text, "has not requested a pool within 120000 ms"));
}

} // namespace
} // namespace rpmem::hostile
