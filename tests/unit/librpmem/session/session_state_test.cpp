// SPDX-License-Identifier: BSD-3-Clause
// Tests what a session learns of the state of its pool, and how it sets the state of the replica. A
// scripted daemon sends the messages. The test fails if the state that the daemon sent is lost or
// changed, if a malformed one is accepted, if the request has other bytes or a refusal ends the
// session, or if an older daemon gets a request that it does not know.
#include "librpmem/session/session.hpp"
#include "tests/support/scripted_daemon.hpp"

#include <gtest/gtest.h>

namespace rpmem::test {
namespace {

using initiator::Session;
using wire::ReplicaState;

constexpr std::uint64_t not_comparing = wire::all_capabilities & ~wire::capability_compare;

const wire::PoolState state{.id = {std::byte{1}, std::byte{2}},
                            .epoch = 8,
                            .last_epoch = 7,
                            .behind_since = 1700000001,
                            .catching_up_since = 1700000002,
                            .parts = {std::byte{3}}};

std::unique_ptr<Session> state_session_with(const ScriptedDaemon& daemon) {
    return value_of(Session::start(value_of(initiator::parse_target("target")), "rpmemd", false,
                                   daemon.settings()));
}

wire::InBandAttributes in_band() { return {7777, wire::PersistMethod::general_purpose, 0, 0, 1}; }

// A daemon that answers OPEN or CREATE after it has sent BEFORE, and then runs THEN.
auto daemon_with(
    std::uint64_t capabilities, wire::Bytes before,
    std::function<void(const DaemonEnd&)> then = [](const DaemonEnd&) {}) {
    return [=](const DaemonEnd& end) {
        greet(end, capabilities);
        const wire::Bytes request = end.receive_request();
        end.say(before);
        if (wire::request_type(request) == wire::MessageType::create)
            end.say(wire::encode(wire::CreateResponse{wire::Status::success, in_band()}));
        else
            end.say(wire::encode(wire::OpenResponse{wire::Status::success, in_band(), {}}));
        then(end);
    };
}

Result<wire::OpenResponse> open(Session& session) {
    return session.open({.pool_size = 1, .lanes = 1, .pool_set = "pool.set"});
}

TEST(SessionState, ComesWithThePool) {
    for (const bool creates : {false, true}) {
        ScriptedDaemon daemon(daemon_with(wire::all_capabilities, wire::encode(state)));
        const auto session = state_session_with(daemon);
        EXPECT_EQ(session->pool_state(), std::nullopt);
        if (creates)
            ASSERT_TRUE(
                succeeded(session->create({.pool_size = 1, .lanes = 1, .pool_set = "pool.set"})));
        else
            ASSERT_TRUE(succeeded(open(*session)));
        EXPECT_EQ(session->pool_state(), state);
        EXPECT_EQ(daemon.wait(), "");
    }
}

TEST(SessionState, OneThatIsMalformedEndsTheSession) {
    wire::PoolState before_the_epoch = state;
    before_the_epoch.behind_since = -1;
    ScriptedDaemon daemon(daemon_with(wire::all_capabilities, wire::encode(before_the_epoch)));
    const auto session = state_session_with(daemon);
    EXPECT_TRUE(failed(open(*session), EBADMSG, "violated the protocol"));
    EXPECT_EQ(session->pool_state(), std::nullopt);
}

TEST(SessionState, IsNotKnownOfAnOlderDaemon) {
    ScriptedDaemon daemon(daemon_with(not_comparing, {}, [](const DaemonEnd& end) {
        DaemonEnd::check(wire::request_type(end.receive_request()) == wire::MessageType::close,
                         "receive CLOSE");
        end.say(wire::encode(wire::CloseResponse{}));
    }));
    const auto session = state_session_with(daemon);
    EXPECT_TRUE(failed(session->set_replica_state(ReplicaState::in_sync), ENOTSUP, "update it"));
    ASSERT_TRUE(succeeded(open(*session)));
    EXPECT_EQ(session->pool_state(), std::nullopt);
    EXPECT_TRUE(failed(session->set_replica_state(ReplicaState::in_sync), ENOTSUP, "0x20000"));
    EXPECT_TRUE(succeeded(session->close()));
    EXPECT_EQ(daemon.wait(), "") << "nothing was sent before CLOSE";
}

// An older daemon has not agreed on the message, so it is unexpected.
TEST(SessionState, IsRefusedUnlessItWasAgreedOn) {
    ScriptedDaemon daemon(daemon_with(not_comparing, wire::encode(state)));
    const auto session = state_session_with(daemon);
    EXPECT_TRUE(failed(open(*session), EBADMSG, "violated the protocol"));
    EXPECT_EQ(session->pool_state(), std::nullopt);
}

TEST(SessionState, IsSetByARequest) {
    const std::pair<ReplicaState, wire::Status> requests[] = {
        {ReplicaState::catching_up, wire::Status::success},
        {ReplicaState::in_sync, wire::Status::fatal},
        {ReplicaState::in_sync, wire::Status::no_access},
        {ReplicaState::in_sync, wire::Status::success}};
    ScriptedDaemon daemon(daemon_with(wire::all_capabilities, {}, [&](const DaemonEnd& end) {
        for (const auto& [asked, status] : requests) {
            wire::Bytes request = end.receive_request();
            while (wire::request_type(request) == wire::MessageType::heartbeat)
                request = end.receive_request();
            DaemonEnd::check(request == wire::encode(wire::SetReplicaStateRequest{asked}),
                             "receive the state");
            end.say(wire::encode(wire::SetReplicaStateResponse{status}));
        }
    }));
    const auto session = state_session_with(daemon);
    ASSERT_TRUE(succeeded(open(*session)));
    for (const auto& [asked, status] : requests) {
        const auto set = session->set_replica_state(asked);
        if (status == wire::Status::success)
            EXPECT_TRUE(succeeded(set));
        else
            EXPECT_TRUE(failed(set, wire::errno_of(status), "refused to set the state"));
    }
    EXPECT_EQ(daemon.wait(), "");
}

} // namespace
} // namespace rpmem::test
