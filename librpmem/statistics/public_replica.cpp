// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/public_replica.hpp"

#include "common/base/escaping.hpp"

namespace rpmem::initiator {
namespace {

constexpr std::uint64_t nanoseconds_of_second = 1000000000;

std::uint32_t number_of(SyncState state) {
    switch (state) {
    case SyncState::in_sync:
        return RPMEM_REPLICA_IN_SYNC;
    case SyncState::away:
        return RPMEM_REPLICA_AWAY;
    case SyncState::catching_up:
        return RPMEM_REPLICA_CATCHING_UP;
    case SyncState::paused:
        return RPMEM_REPLICA_PAUSED;
    case SyncState::failed:
        break;
    }
    return RPMEM_REPLICA_FAILED;
}

} // namespace

rpmem_replica_state_info public_replica_state(const ReplicaReport& report) {
    rpmem_replica_state_info info{.version = RPMEM_REPLICA_STATE_VERSION,
                                  .state = number_of(report.state),
                                  .since = report.since / nanoseconds_of_second,
                                  .behind_bytes = report.behind_bytes,
                                  .catch_up_rate = report.catch_up_rate,
                                  .reason = {}};
    put_printable(info.reason, report.reason, charset_of_locale());
    return info;
}

} // namespace rpmem::initiator
