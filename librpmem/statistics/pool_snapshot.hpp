// SPDX-License-Identifier: BSD-3-Clause
// The counts of a pool at one moment, of this process or of another: what rpmem_stats(), `rpmemctl
// status` and the file for Prometheus tell.
#pragma once

#include "common/statistics/call_totals.hpp"
#include "librpmem/statistics/pool_counters.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace rpmem::initiator {

using statistics::CallTotals;

struct PoolSnapshot {
    std::uint32_t process = 0;
    PoolFacts facts{};
    std::uint64_t unconfirmed_bytes = 0;
    std::uint64_t waits = 0;
    std::array<CallTotals, call_kinds> of;
};

// FILE: of PoolCounters, of any process on this host. An error: it is none, or of another version.
[[nodiscard]] Result<PoolSnapshot> read_counters(int file);

// Nanoseconds, known to 12.5 %; of no calls: 0.
struct CallSummary {
    std::uint64_t calls;
    std::uint64_t bytes;
    std::uint64_t total;
    std::uint64_t p50;
    std::uint64_t p99;
    std::uint64_t p999;
    std::uint64_t longest;
};

[[nodiscard]] CallSummary summarize(const PoolSnapshot& snapshot, CallKind call);

// The difference between two snapshots of one pool.
[[nodiscard]] PoolSnapshot since(const PoolSnapshot& before, PoolSnapshot now);

// A text of PoolFacts, which another process may have written.
template <std::size_t size>
[[nodiscard]] std::string text_in(const std::array<char, size>& place) {
    return {place.begin(), std::find(place.begin(), place.end(), '\0')};
}

} // namespace rpmem::initiator
