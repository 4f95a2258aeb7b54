// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/public_statistics.hpp"

namespace rpmem::initiator {
namespace {

rpmem_call_stats statistics_of(const PoolSnapshot& snapshot, CallKind call) {
    const CallSummary summary = summarize(snapshot, call);
    return {.calls = summary.calls,
            .bytes = summary.bytes,
            .total_ns = summary.total,
            .p50_ns = summary.p50,
            .p99_ns = summary.p99,
            .p999_ns = summary.p999,
            .longest_ns = summary.max};
}

} // namespace

rpmem_pool_stats public_statistics(const PoolSnapshot& snapshot) {
    static_assert(RPMEM_LINK_FAILED == static_cast<int>(LinkState::failed));
    const PoolFacts& facts = snapshot.facts;
    return {.version = RPMEM_STATS_VERSION,
            .state = static_cast<std::uint32_t>(facts.state),
            .lanes = facts.lane_count,
            .generation = facts.generation,
            .reconnects = facts.reconnects,
            .replayed_bytes = facts.replayed_bytes,
            .unconfirmed_bytes = snapshot.unconfirmed_bytes,
            .waits = snapshot.waits,
            .persist = statistics_of(snapshot, CallKind::persist),
            .flush = statistics_of(snapshot, CallKind::flush),
            .drain = statistics_of(snapshot, CallKind::drain),
            .deep_persist = statistics_of(snapshot, CallKind::deep_persist),
            .read = statistics_of(snapshot, CallKind::read)};
}

} // namespace rpmem::initiator
