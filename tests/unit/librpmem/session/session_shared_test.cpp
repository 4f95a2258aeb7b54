// SPDX-License-Identifier: BSD-3-Clause
// Tests a session that two threads use. A scripted daemon delays the response to a request, and
// meanwhile another thread asks for notices, as the heartbeat thread does for all pools. The test
// fails if that thread waits for the response.
#include "librpmem/session/session.hpp"
#include "tests/support/scripted_daemon.hpp"

#include <gtest/gtest.h>

#include <future>

namespace rpmem::test {
namespace {

using initiator::Session;

std::unique_ptr<Session> session_with(const ScriptedDaemon& daemon) {
    return value_of(Session::start(value_of(initiator::parse_target("target")), "rpmemd", false,
                                   daemon.settings()));
}

TEST(SharedSession, NoticesDoNotWaitForARequest) {
    std::promise<void> asked;
    std::promise<void> looked;
    ScriptedDaemon daemon([&](const DaemonEnd& end) {
        greet(end, scripted_capabilities);
        end.receive_request();
        asked.set_value();
        looked.get_future().wait();
        end.say(wire::encode(wire::SetAttributesResponse{wire::Status::success}));
    });
    const auto session = session_with(daemon);
    auto request = std::async(std::launch::async, [&] { return session->set_attributes({}); });
    asked.get_future().wait();
    auto notices = std::async(std::launch::async, [&] { return session->take_notices(); });
    EXPECT_EQ(notices.wait_for(std::chrono::seconds(5)), std::future_status::ready);
    looked.set_value();
    EXPECT_TRUE(request.get().has_value());
    EXPECT_TRUE(notices.get().empty());
    EXPECT_EQ(daemon.wait(), "");
}

} // namespace
} // namespace rpmem::test
