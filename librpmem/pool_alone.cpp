// SPDX-License-Identifier: BSD-3-Clause
// The part of Pool for RPMEM_ON_LOSS=alone: what open and close do, see Replica.
#include "librpmem/control/control_server.hpp"
#include "librpmem/pool.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::initiator {

// Returns how many lanes the application gets. With RPMEM_ON_LOSS=alone, the thread that catches up
// has the last one. If this machine does not allow to go on alone (allows_alone()), open succeeds
// all the same: pmempool sync deletes a replica that it cannot open.
Result<unsigned> Pool::lanes_for_program(Connection& connection) {
    const unsigned granted = connection.lanes().lanes();
    if (settings_.on_loss != OnLoss::alone)
        return granted;
    const unsigned asked = std::max(arguments_.lanes - 1, 1U);
    if (first_writable_ == nothing_writable)
        return std::min(granted, asked);
    if (!connection.session().agreement().compare)
        return fail(ErrorClass::target_refused, ENOTSUP,
                    "rpmemd on {} cannot store that the replica may lack calls (capability {:#x}), "
                    "so RPMEM_ON_LOSS=alone is not possible; update it, or use RPMEM_ON_LOSS=fail",
                    host_, wire::capability_compare);
    if (!equalizer_->allows_alone())
        return std::min(granted, asked);
    if (granted < 2)
        return fail(ErrorClass::target_refused, ENOTSUP,
                    "RPMEM_ON_LOSS=alone needs a lane for itself and one for the program, and {} "
                    "and RPMEM_MAX_NLANES allow {}",
                    host_, granted);
    replica_ = std::make_unique<Replica>(size_of_pool(), granted - 1);
    return granted - 1;
}

Result<> Pool::start_catch_up(const Log& log, ControlServer* control) {
    if (!replica_)
        return {};
    catch_up_ = std::make_unique<CatchUp>(*link_, *replica_,
                                          CatchUp::Terms{.pool_size = size_of_pool(),
                                                         .first_writable = first_writable_,
                                                         .lane = lanes(),
                                                         .name = equalizer_->name(),
                                                         .kept = &*kept_attributes_},
                                          settings_, log);
    RPMEM_TRY(catch_up_->start());
    if (control)
        link_->show_control(control->start(settings_.runtime_dir));
    return {};
}

// Call it after the comparison, or after may_hand_over(). If the replica differs, what this program
// writes later does not make it equal. The record of the target states may_go_alone before any call
// can go on alone, because afterwards nobody can inform the target.
Result<> Pool::go_on_alone(const char* call, CallBound& bound) {
    if (!catch_up_ || !equalizer_->allows_alone())
        return {};
    auto source = map_again({arguments_.address, size_of_pool()});
    if (!source) {
        equalizer_->log_not_alone(source.error().text);
        return {};
    }
    catch_up_->set_source(std::move(*source));
    RPMEM_TRY(set_replica_state(call, wire::ReplicaState::may_go_alone, bound));
    link_->go_on_alone(
        {.leave = [this](const Error& why, bool has_failed) { catch_up_->leave(why, has_failed); },
         .pause = [this] { return catch_up_->pause(); },
         .resume = [this] { return catch_up_->resume(); },
         .limit_rate = [this](std::uint64_t rate) { catch_up_->limit_rate(rate); }});
    return {};
}

// Returns true if the pool is closed without the target. Its record says that the session was not
// closed, so the next one compares.
bool Pool::closes_alone(std::chrono::milliseconds time) {
    if (!catch_up_)
        return false;
    const bool is_away = is_alone() && !catch_up_->await_in_sync(time);
    catch_up_->stop();
    if (!is_away)
        return false;
    lanes_.clear();
    catch_up_->log_closed_alone();
    return true;
}

} // namespace rpmem::initiator
