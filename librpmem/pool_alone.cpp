// SPDX-License-Identifier: BSD-3-Clause
// The part of Pool for RPMEM_ON_LOSS=alone: what open and close do, see Replica.
#include "librpmem/pool.hpp"

#include <cerrno>

namespace rpmem::initiator {

// One lane more than the application has. A target that cannot store the state, or an initiator
// that would not compare, could not notice later that the replica lacks calls.
Result<> Pool::prepare_to_go_alone(Connection& connection) {
    if (settings_.on_loss != OnLoss::alone || first_writable_ == nothing_writable)
        return {};
    if (settings_.equalize == Equalize::no)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "RPMEM_ON_LOSS=alone needs RPMEM_EQUALIZE=auto or yes, because the replica may "
                    "lack calls of the session before; it is no");
    if (lanes() == 0)
        return fail(ErrorClass::target_refused, ENOTSUP,
                    "RPMEM_ON_LOSS=alone needs a lane for itself and one for the program, and {} "
                    "and RPMEM_MAX_NLANES allow 1 lane",
                    host_);
    RPMEM_TRY(connection.session().set_replica_state(wire::ReplicaState::may_go_alone));
    replica_ = std::make_unique<Replica>(size_of_pool(), lanes());
    return {};
}

Result<> Pool::start_catch_up(const Log& log) {
    if (!replica_)
        return {};
    catch_up_ = std::make_unique<CatchUp>(
        *link_, *replica_,
        CatchUp::Terms{.memory = {arguments_.address, arguments_.size},
                       .first_writable = first_writable_,
                       .lane = lanes(),
                       .name = fmt::format("{}:{}", arguments_.target, arguments_.pool_set)},
        settings_, log);
    return catch_up_->start();
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
