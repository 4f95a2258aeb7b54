// SPDX-License-Identifier: BSD-3-Clause
// The part of Link that decides what a failure means: whether the connection is lost, and whether
// another connection would help the call. Link::connection() then connects again, or fails.
//
//   what failed        the connection is lost           another connection helps
//   connecting a lane  if a later attempt may succeed   if the connection is lost
//   an operation       always                           unless the target violated the protocol, or
//                                                       is alive and did not answer in time
//   a request          unless the target refused it     like an operation
//   the session        see Session::poll_for_loss()     unless the medium has failed, or the target
//                                                       violated the protocol
#include "librpmem/connection/link.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::initiator {

// Whether another connection would help a call that has lost CONNECTION for this reason.
bool Link::may_replace(const Connection& connection, const Error& loss) {
    return loss.kind == ErrorClass::link_lost && connection.can_reconnect();
}

Result<FrameLane*> Link::use_lane(Connection& connection, unsigned index, bool recovers,
                                  CallBound& bound) {
    const auto began = Clock::now();
    const auto limit = std::min<std::chrono::milliseconds>(
        settings_.connect_timeout, settings_.peer_timeout + max_time_.load());
    auto lane = connection.lanes().use_lane(index, bound.limit(limit));
    if (lane)
        return lane;
    Error error = std::move(lane).error();
    if (connection.await_loss(error))
        return Failure(std::move(error));
    // A lack of descriptors may be temporary, so a recovery connects the lane again. Otherwise the
    // call fails at once.
    if ((recovers || bound.has_begun()) && error.kind == ErrorClass::resource_limit)
        error.kind = ErrorClass::link_lost;
    // If the program goes on alone, the loss is declared even if the connection is not replaced.
    // connection() then finds the loss, and gives up on the target.
    if (may_replace(connection, error) ||
        (error.kind == ErrorClass::link_lost && goes_on_alone())) {
        const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
            Clock::now() - began - settings_.peer_timeout);
        bound.begin(times(), error.text, std::max(spent, std::chrono::milliseconds(0)));
        connection.monitor().declare_lost(error);
    }
    return Failure(std::move(error));
}

Result<> Link::lane_failed(Connection& connection, const FrameLane& lane, int code,
                           const CallBound& bound) {
    Session& session = connection.session();
    if (code == ETIMEDOUT) {
        std::string text =
            bound.has_begun() && !waits_without_limit()
                ? fmt::format("{} acknowledged nothing in the time that was left after the session "
                              "had been lost ({})",
                              connection.host(), limit())
                : fmt::format("{} did not complete an operation within {} ms "
                              "(RPMEM_OPERATION_TIMEOUT)",
                              connection.host(), settings_.operation_timeout.count());
        return lose(connection, {ETIMEDOUT, ErrorClass::link_lost, std::move(text)}, bound);
    }
    if (code == EBADMSG) {
        Error broke = session.ending("rpmemd violated the protocol: " + lane.violation());
        broke.code = EBADMSG;
        return lose(connection, std::move(broke), bound);
    }
    if (code == EFAULT)
        return lose(connection,
                    session.ending("a lane ended within a frame, because memory of the application "
                                   "cannot be accessed (EFAULT)"),
                    bound);
    // A lane usually fails because the session ends. Then the session has the reason.
    if (connection.monitor().reason(connection.explanation_time()))
        return {};
    const std::string words = printable(lane.output());
    return lose(
        connection,
        session.ending(fmt::format("a lane failed: {}{}{}", lane.failure(),
                                   words.empty() ? "" : "; the target's error text: ", words)),
        bound);
}

// Another connection does not help if the target violated the protocol, or if it is alive and did
// not complete an operation in time. Such an error becomes a refusal. A late operation has two
// exceptions. A call that has already spent time on a loss may have too little left even for a good
// target. With RPMEM_ON_LOSS=wait or alone another connection is tried, because the medium of the
// target may have stalled only for a while.
Result<> Link::lose(Connection& connection, Error error, const CallBound& bound) {
    const bool is_late =
        error.code == ETIMEDOUT && !bound.has_begun() && !waits_without_limit() && !goes_on_alone();
    if (error.code == EBADMSG ||
        (is_late && connection.can_resume() && !connection.session().is_silent()))
        error.kind = ErrorClass::target_refused;
    connection.monitor().declare_lost(error);
    if (error.code == ETIMEDOUT && !may_replace(connection, error) && !goes_on_alone())
        return Failure(std::move(error));
    return {};
}

} // namespace rpmem::initiator
