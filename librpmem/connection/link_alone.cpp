// SPDX-License-Identifier: BSD-3-Clause
// The part of Link for programs that go on without their target (RPMEM_ON_LOSS=alone), see
// librpmem/replica/catch_up.hpp.
#include "librpmem/connection/link.hpp"

#include <cerrno>
#include <chrono>

namespace rpmem::initiator {
namespace {

using std::chrono::milliseconds;

// Time that a daemon needs to end, beyond the peer timeout.
constexpr std::chrono::seconds daemon_end(2);

} // namespace

void Link::go_on_alone(Alone alone) {
    const std::lock_guard lock(mutex_);
    alone_ = std::move(alone);
}

bool Link::goes_on_alone() {
    const std::lock_guard lock(mutex_);
    return alone_.has_value();
}

// ESTALE is final: the target has a newer owner, and a program that went on alone would be a second
// one. Most other errors may pass by themselves, also EACCES: an administrator may have removed a
// key by mistake. A violation of the protocol has the code ECONNRESET after the session was
// declared lost.
Link::WithoutTarget Link::without_target(const Error& error) {
    if (error.code == ESTALE || error.kind == ErrorClass::bug)
        return WithoutTarget::ends;
    const bool is_violation = error.kind == ErrorClass::target_refused &&
                              (error.code == EBADMSG || error.code == ECONNRESET);
    const bool is_unreadable = error.kind == ErrorClass::caller_fault && error.code == EFAULT;
    if (error.kind == ErrorClass::medium_failed || is_unreadable || is_violation)
        return WithoutTarget::goes_on_for_ever;
    return WithoutTarget::goes_on;
}

void Link::give_up(Error error) {
    const WithoutTarget next = alone_ ? without_target(error) : WithoutTarget::ends;
    if (next == WithoutTarget::ends)
        return set_failed(std::move(error));
    has_failed_ = next == WithoutTarget::goes_on_for_ever;
    last_problem_ = error;
    set_state(State::away);
    last_contact_ = Clock::now();
    put_text(counters_.facts().last_loss, error.text);
    failure_ = std::move(error);
    alone_->leave(*failure_, has_failed_);
    changed_.notify_all();
}

// The thread that catches up ends the session, see cut_paused().
Result<> Link::leave_session(CallBound& bound) {
    std::unique_lock lock(mutex_);
    while (state_ == State::reconnecting)
        await_others(lock, bound);
    if (state_ == State::failed)
        return Failure(*failure_);
    if (state_ != State::connected)
        return {};
    const Error why{EAGAIN, ErrorClass::link_lost,
                    "the replica may lack calls of an earlier session, so it is compared"};
    current_->monitor().declare_lost(why);
    must_cut_ = true;
    give_up(why);
    return {};
}

Result<Link::Reached> Link::reach(unsigned number) {
    RPMEM_ASSIGN(auto connection, try_once(times().one_try, number));
    const std::lock_guard lock(mutex_);
    reached_ = connection;
    reached_seen_by_child_ = reached_.get();
    return Reached{connection, std::exchange(are_parts_changed_, false)};
}

void Link::note_login() {
    const std::lock_guard lock(mutex_);
    logged_in_ = Clock::now();
}

void Link::note_contact() {
    const std::lock_guard lock(mutex_);
    last_contact_ = Clock::now();
}

// A daemon of this link changes a part only until it ends, at most the peer timeout after the last
// contact. A later change is somebody else's, such as a backup that was restored. The target
// measures unchanged_for when it opens the parts, which is right after the login. An attempt that
// fails after that is a contact, too, so its finding is kept for the next one. A call that
// reconnects cannot compare, so it leaves that to the thread that catches up.
Result<> Link::note_open(Connection& connection) {
    const auto state = connection.session().pool_state();
    const std::lock_guard lock(mutex_);
    const auto silence = logged_in_ - last_contact_;
    last_contact_ = Clock::now();
    if (!alone_ || !state ||
        milliseconds(state->unchanged_for) + daemon_end >= silence - settings_.peer_timeout)
        return {};
    are_parts_changed_ = true;
    if (is_away())
        return {};
    return fail(ErrorClass::target_refused, EPERM,
                "the parts of {} were changed while its session was lost, perhaps restored from a "
                "backup, so all of the replica is compared in the next session",
                name());
}

void Link::show_catching_up() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::away)
        set_state(State::catching_up);
}

void Link::show_figures(const CatchUpFigures& figures) {
    const std::lock_guard lock(mutex_);
    PoolFacts& facts = counters_.facts();
    facts.behind_bytes = figures.behind_bytes;
    facts.catch_up_rate = figures.rate;
    facts.is_outpaced = figures.is_outpaced ? 1 : 0;
}

Failure Link::lane_failure(Connection& connection, const FrameLane& lane, int code) {
    if (const auto reason = connection.monitor().reason(connection.explanation_time()))
        return Failure(*reason);
    Error error{code, ErrorClass::link_lost, "the lane that catches up failed: " + lane.failure()};
    if (code == EBADMSG)
        error = {code, ErrorClass::target_refused,
                 "rpmemd violated the protocol: " + lane.violation()};
    connection.monitor().declare_lost(error);
    return Failure(std::move(error));
}

void Link::drop_reached() {
    std::unique_lock lock(mutex_);
    const auto dropped = std::move(reached_);
    last_contact_ = Clock::now();
    reached_ = nullptr;
    reached_seen_by_child_ = nullptr;
    if (state_ == State::catching_up)
        set_state(State::away);
    lock.unlock(); // destroying a connection takes time
    if (dropped)
        dropped->cut();
}

void Link::note_attempt(const Error& error, bool is_final) {
    const std::lock_guard lock(mutex_);
    if (!is_away())
        return;
    last_problem_ = error;
    has_failed_ = is_final;
    note_sync_state();
}

Result<bool> Link::record_in_sync() {
    std::unique_lock lock(mutex_);
    const auto connection = current_;
    if (state_ == State::failed || is_away())
        return true; // it is stored after the next join, or never
    if (state_ != State::connected || connection->monitor().lost())
        return false;
    lock.unlock();
    const auto stored = connection->session().set_replica_state(wire::ReplicaState::in_sync);
    if (stored)
        return true;
    // Another request to a silent target would take as long, and calls would wait for it.
    if (stored.error().kind != ErrorClass::target_refused || stored.error().code == EBADMSG)
        connection->monitor().declare_lost(stored.error());
    return Failure(stored.error());
}

void Link::end(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (is_away())
        set_failed(error);
}

bool Link::join(const std::shared_ptr<Connection>& connection,
                const std::function<bool()>& commit) {
    const std::lock_guard lock(mutex_);
    if (!is_away() || !commit())
        return false;
    connection->commit();
    seen_by_child_ = connection.get();
    current_ = connection;
    reached_ = nullptr;
    reached_seen_by_child_ = nullptr;
    set_state(State::connected);
    PoolFacts& facts = counters_.facts();
    facts.behind_bytes = facts.catch_up_rate = facts.is_outpaced = 0;
    facts.last_join = now();
    ++facts.reconnects;
    facts.generation = generation_;
    return true;
}

} // namespace rpmem::initiator
