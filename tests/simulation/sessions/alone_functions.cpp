// SPDX-License-Identifier: BSD-3-Clause
// Reports what a program does that goes on alone, and what the target stores about it, to
// AloneWatch, and plants faults there. The linker's --wrap replaces functions of the product by
// these, which call the original ones.
#include "librpmem/replica/catch_up.hpp"
#include "rpmemd/registry/registration.hpp"
#include "tests/simulation/sessions/alone_watch.hpp"
#include "tests/simulation/sessions/planted.hpp"
#include "tests/simulation/sessions/preempted_atomic.hpp"

namespace rpmem::simulation::sessions {

using initiator::CatchUp;
using initiator::Connection;
using initiator::FrameLane;
using initiator::Link;
using initiator::PoolRange;
using initiator::Replica;
using initiator::Session;

// A thread is usually preempted for a moment, and rarely for longer than a join may take.
void may_be_preempted() {
    AloneWatch* const watch = AloneWatch::of_program();
    if (!watch)
        return;
    World& world = watch->world();
    Random& random = world.random();
    if (!random.chance(12))
        return;
    if (random.chance(50))
        world.yield();
    else if (random.chance(98))
        world.sleep(random.below(20 * microsecond + 4 * watch->plan().conditions.delay));
    else
        world.sleep(random.below(200 * millisecond));
}

using Mark = bool(Replica*, unsigned, const PoolRange&, std::vector<PoolRange>&);
Mark real_mark __asm__("__real__ZN5rpmem9initiator7Replica4markEjRKNS0_9PoolRangeERSt6vectorIS2_"
                       "SaIS2_EE");
Mark watched_mark __asm__("__wrap__ZN5rpmem9initiator7Replica4markEjRKNS0_9PoolRangeERSt6vectorIS2_"
                          "SaIS2_EE");
bool watched_mark(Replica* replica, unsigned lane, const PoolRange& own,
                  std::vector<PoolRange>& ranges) {
    if (marks_no_owed())
        ranges.clear();
    const bool done = real_mark(replica, lane, own, ranges);
    if (AloneWatch* const watch = AloneWatch::of_program(); watch && done)
        watch->marked(lane);
    return done;
}

using CloseGate = bool(Replica*, std::chrono::milliseconds);
CloseGate real_close_gate __asm__(
    "__real__ZN5rpmem9initiator7Replica10close_gateENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
CloseGate watched_close_gate __asm__(
    "__wrap__ZN5rpmem9initiator7Replica10close_gateENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
bool watched_close_gate(Replica* replica, std::chrono::milliseconds time) {
    const bool is_closed = has_no_gate() ? replica->change(initiator::ReplicaState::catching_up,
                                                           initiator::ReplicaState::joining)
                                         : real_close_gate(replica, time);
    AloneWatch* const watch = AloneWatch::of_program();
    if (!watch || !is_closed)
        return is_closed;
    if (Session* const session = watch->reached_session(); records_early() && session)
        static_cast<void>(session->set_replica_state(wire::ReplicaState::in_sync));
    watch->pass(Moment::closes_gate);
    return is_closed;
}

using Reach = Result<Link::Reached>(Link*, unsigned);
Reach real_reach __asm__("__real__ZN5rpmem9initiator4Link5reachEj");
Reach watched_reach __asm__("__wrap__ZN5rpmem9initiator4Link5reachEj");
Result<Link::Reached> watched_reach(Link* link, unsigned number) {
    auto reached = real_reach(link, number);
    if (AloneWatch* const watch = AloneWatch::of_program(); watch && reached)
        watch->reached(reached->connection->session());
    return reached;
}

using Drop = void(Link*);
Drop real_drop __asm__("__real__ZN5rpmem9initiator4Link12drop_reachedEv");
Drop watched_drop __asm__("__wrap__ZN5rpmem9initiator4Link12drop_reachedEv");
void watched_drop(Link* link) {
    if (AloneWatch* const watch = AloneWatch::of_program())
        watch->drops_reached();
    real_drop(link);
}

using Join = bool(Link*, const std::shared_ptr<Connection>&, const std::function<bool()>&);
Join real_join __asm__("__real__ZN5rpmem9initiator4Link4joinERKSt10shared_ptrINS0_10ConnectionEERK"
                       "St8functionIFbvEE");
Join watched_join __asm__("__wrap__ZN5rpmem9initiator4Link4joinERKSt10shared_ptrINS0_"
                          "10ConnectionEERKSt8functionIFbvEE");
bool watched_join(Link* link, const std::shared_ptr<Connection>& connection,
                  const std::function<bool()>& commit) {
    // The first call may be acknowledged before real_join() returns.
    return real_join(link, connection, [&commit] {
        const bool done = commit();
        if (AloneWatch* const watch = AloneWatch::of_program(); watch && done)
            watch->joined();
        return done;
    });
}

using GoOn = void(Link*, Link::Alone);
GoOn real_go_on __asm__("__real__ZN5rpmem9initiator4Link11go_on_aloneENS1_5AloneE");
GoOn watched_go_on __asm__("__wrap__ZN5rpmem9initiator4Link11go_on_aloneENS1_5AloneE");
void watched_go_on(Link* link, Link::Alone alone) {
    if (AloneWatch* const watch = AloneWatch::of_program())
        watch->allows_leaving();
    real_go_on(link, std::move(alone));
}

using Leave = void(CatchUp*, const Error&, bool);
Leave real_leave __asm__("__real__ZN5rpmem9initiator7CatchUp5leaveERKNS_5ErrorEb");
Leave watched_leave __asm__("__wrap__ZN5rpmem9initiator7CatchUp5leaveERKNS_5ErrorEb");
void watched_leave(CatchUp* catch_up, const Error& why, bool has_failed) {
    if (AloneWatch* const watch = AloneWatch::of_program())
        watch->leaves();
    real_leave(catch_up, why, has_failed);
}

using SetState = Result<>(Session*, wire::ReplicaState);
SetState real_set_state __asm__(
    "__real__ZN5rpmem9initiator7Session17set_replica_stateENS_4wire12ReplicaStateE");
SetState watched_set_state __asm__(
    "__wrap__ZN5rpmem9initiator7Session17set_replica_stateENS_4wire12ReplicaStateE");
Result<> watched_set_state(Session* session, wire::ReplicaState next) {
    AloneWatch* const watch = AloneWatch::of_program();
    if (watch && next == wire::ReplicaState::in_sync)
        watch->states_in_sync(session);
    return real_set_state(session, next);
}

using Store = Result<>(target::Registration*, target::ReplicaState);
Store real_store __asm__(
    "__real__ZN5rpmem6target12Registration17set_replica_stateENS0_12ReplicaStateE");
Store watched_store __asm__(
    "__wrap__ZN5rpmem6target12Registration17set_replica_stateENS0_12ReplicaStateE");
Result<> watched_store(target::Registration* registration, target::ReplicaState next) {
    if (AloneWatch* const watch = AloneWatch::of_target())
        watch->pass(Moment::stores_state);
    stores_state(true);
    auto stored = real_store(registration, next);
    stores_state(false);
    if (AloneWatch* const watch = AloneWatch::of_target())
        watch->pass(Moment::has_stored_state);
    return stored;
}

} // namespace rpmem::simulation::sessions
