// SPDX-License-Identifier: BSD-3-Clause
// The part of Pool that compares the replica with the memory of this process before the first
// write, see Equalizer.
#include "librpmem/repeated_calls.hpp"

namespace rpmem::initiator {

// No write uses a lane before this succeeds, so the first write of each lane comes here. Writes on
// other lanes wait for the mutex, so no other write is sent during the comparison.
Result<> Pool::equalize(const char* call, unsigned lane, CallBound& bound) {
    RPMEM_TRY(refuse_in_child(call));
    const std::lock_guard lock(equalizer_->mutex());
    if (!equalizer_->is_pending())
        return {};
    RPMEM_TRY(in_context(call, equalizer_->check_accepted()));
    const Result<bool> is_left = leave_comparison(call, lane, bound);
    if (is_left && *is_left)
        return {};
    if (auto done = is_left ? compare_and_send(call, lane, bound) : Failure(is_left.error());
        !done) {
        leave(lane); // the next call compares again
        return done;
    }
    equalizer_->finish();
    link_->wake_waits();
    return go_on_alone(call, bound);
}

Result<> Pool::compare_and_send(const char* call, unsigned lane, CallBound& bound) {
    Equalizer& equalizer = *equalizer_;
    const auto is_readable = [&]() -> Result<> {
        return equalizer.failure() ? in_context(call, *equalizer.failure()) : Result<>();
    };
    RPMEM_TRY(
        on_lane(call, lane, {}, bound, [&](FrameLane& own) { return equalizer.compare(own); }));
    RPMEM_TRY(is_readable());
    if (!equalizer.must_compare() || (equalizer.differs() && !equalizer.may_send()))
        return {};
    if (equalizer.differs()) {
        RPMEM_TRY(set_replica_state(call, wire::ReplicaState::catching_up, bound));
        RPMEM_TRY(
            on_lane(call, lane, {}, bound, [&](FrameLane& own) { return equalizer.send(own); }));
        RPMEM_TRY(is_readable());
    }
    return set_replica_state(call, wire::ReplicaState::in_sync, bound);
}

Result<> Pool::set_replica_state(const char* call, wire::ReplicaState state, CallBound& bound) {
    return on_session(call, bound, [&](Connection& connection) {
        return connection.session().set_replica_state(state);
    });
}

// The first write of a program that goes on alone does not wait for a comparison. The session ends
// as if it were lost, and the thread that catches up compares in the next session. Returns false if
// this call must compare itself. After a failure the comparison is still pending, because every
// step that can fail precedes hand_over().
Result<bool> Pool::leave_comparison(const char* call, unsigned lane, CallBound& bound) {
    if (!catch_up_)
        return false;
    bool may_hand_over = false;
    RPMEM_TRY(on_lane(call, lane, {}, bound, [&](FrameLane& own) {
        int code = 0;
        may_hand_over = equalizer_->may_hand_over(own, code);
        return code;
    }));
    if (!may_hand_over)
        return false;
    RPMEM_TRY(go_on_alone(call, bound));
    catch_up_->compare_first();
    RPMEM_TRY(in_context(call, link_->leave_session(bound)));
    equalizer_->hand_over();
    link_->wake_waits();
    return true;
}

// rpmem_close() calls this if the thread that catches up could not record that the replica is in
// sync. Ignores a refusal, so that the session is still closed. The next session then compares.
Result<> Pool::record_in_sync(const char* call, CallBound& bound) {
    Result<> stored = set_replica_state(call, wire::ReplicaState::in_sync, bound);
    return !stored && stored.error().kind == ErrorClass::target_refused ? Result<>() : stored;
}

} // namespace rpmem::initiator
