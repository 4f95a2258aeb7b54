// SPDX-License-Identifier: BSD-3-Clause
// The requests that change the headers or the record of an open pool.
#include "rpmemd/session/session.hpp"

namespace rpmem::target {

Result<> Session::set_attributes(const rpmem_pool_attr& attributes) {
    if (!pool_)
        return refuse(wire::Status::bad_protocol, "SET_ATTR was sent before a pool was open");
    // Check first, so that a refused request does not change the record.
    RPMEM_TRY(pool_->may_set(attributes));
    registration_.before_change();
    auto set = pool_->set_attributes(attributes);
    // After a failure of the medium, only the next open can find out which headers the pool has.
    if (!pool_->medium_failure())
        registration_.after_change(pool_->lasting_headers());
    return set;
}

Result<> Session::set_replica_state(wire::ReplicaState state) {
    if (!agreement_.compare)
        return refuse(
            wire::Status::bad_protocol,
            "SET_REPLICA_STATE was sent, but the ends did not agree on comparing replicas");
    if (!pool_)
        return refuse(wire::Status::bad_state, "SET_REPLICA_STATE was sent before a pool was open");
    if (configuration_.read_only)
        return refuse(wire::Status::no_access,
                      "this session may only read (read-only), so it cannot set the state of the "
                      "replica");
    // What was acknowledged before the failure may not be durable.
    if (const auto failure = pool_->medium_failure())
        return refuse(wire::Status::fatal, failure->text);
    // Nothing is flushed here. Before in_sync, the initiator has waited until everything that it
    // has sent is acknowledged, as before CLOSE, and what is acknowledged is durable.
    switch (state) {
    case wire::ReplicaState::in_sync:
        RPMEM_TRY(pool_->show_first_page());
        return registration_.set_replica_state(ReplicaState::in_sync);
    case wire::ReplicaState::catching_up:
        return registration_.set_replica_state(ReplicaState::catching_up).and_then([this] {
            return pool_->hide_first_page();
        });
    case wire::ReplicaState::may_go_alone:
        return registration_.set_replica_state(ReplicaState::may_go_alone);
    }
    return refuse(wire::Status::bad_state,
                  fmt::format("state {} of the replica was requested; 1 is in sync, 2 is catching "
                              "up, 3 is in sync until the initiator goes on alone",
                              static_cast<std::uint32_t>(state)));
}

} // namespace rpmem::target
