// SPDX-License-Identifier: BSD-3-Clause
// What rpmem_replica_state() reports about the replica of a pool.
#pragma once

#include <cstdint>
#include <string>

namespace rpmem::initiator {

enum class SyncState { in_sync, away, catching_up, failed, paused };

struct ReplicaReport {
    SyncState state = SyncState::in_sync;
    std::uint64_t since = 0;         // when the state began: nanoseconds since 1970
    std::uint64_t behind_bytes = 0;  // upper bound, because whole blocks are counted
    std::uint64_t catch_up_rate = 0; // bytes per second
    std::string reason{};            // empty if the replica is in sync
};

} // namespace rpmem::initiator
