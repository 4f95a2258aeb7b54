// SPDX-License-Identifier: BSD-3-Clause
// What a session reports of its pool, to the log and to the initiator.
#include "rpmemd/session/session.hpp"

#include <algorithm>
#include <chrono>

namespace rpmem::target {

// The parts have their times from before this session. A clock that was set back counts as a
// change.
std::uint64_t Session::unchanged_for() const {
    std::chrono::nanoseconds changed{};
    for (const PartFile& part : pool_->parts())
        changed = std::max(changed, part.changed());
    const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now - changed).count();
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(time, 0, wire::max_unchanged_for));
}

wire::Bytes Session::report_on_pool() const {
    if (const auto& record = registration_.found_record(); record && agreement_.pool_claim)
        return wire::encode(wire::PoolClaim{.id = record->id,
                                            .epoch = record->epoch,
                                            .generation = record->generation,
                                            .parts = record->parts});
    if (const auto state = registration_.pool_state(); state && agreement_.compare)
        return wire::encode(wire::PoolState{.id = state->id,
                                            .epoch = state->epoch,
                                            .last_epoch = state->last_epoch,
                                            .behind_since = state->behind_since,
                                            .catching_up_since = state->catching_up_since,
                                            .alone_since = state->alone_since,
                                            .accepted_epoch = state->accepted_epoch,
                                            .unchanged_for = unchanged_for(),
                                            .parts = state->parts});
    return {};
}

void Session::log_policy(wire::Provider provider, wire::PersistMethod method) const {
    const bool appliance = method == wire::PersistMethod::appliance;
    log_.notice("persistency policy:");
    log_.notice("    persist method: {}", appliance ? "Appliance Persistency Method"
                                                    : "General Purpose Server Persistency Method");
    log_.notice("    persist flush: {}", appliance          ? "none"
                                         : pool_->is_pmem() ? "pmem_persist"
                                                            : "pmem_msync");
    if (!lanes_->is_direct() && provider != wire::Provider::tcp)
        log_.notice("    access: by frames only");
}

} // namespace rpmem::target
