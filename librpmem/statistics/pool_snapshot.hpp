// SPDX-License-Identifier: BSD-3-Clause
// The counters of a pool at one moment, from this process or another one. rpmem_stats(), `rpmemctl
// status` and the file for Prometheus report them.
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

// FILE is the memfd of PoolCounters of any process on this host. Fails with EINVAL if it is another
// file, and with EPROTONOSUPPORT if it has another version.
[[nodiscard]] Result<PoolSnapshot> read_counters(int file);

// Times are in nanoseconds. Quantiles have a precision of 12.5 %. Everything is 0 without calls.
struct CallSummary {
    std::uint64_t calls;
    std::uint64_t bytes;
    std::uint64_t total;
    std::uint64_t p50;
    std::uint64_t p99;
    std::uint64_t p999;
    std::uint64_t max;
};

[[nodiscard]] CallSummary summarize(const PoolSnapshot& snapshot, CallKind call);

// Returns NOW with the calls, waits, reconnects and replayed bytes since BEFORE, an earlier
// snapshot of the same pool.
[[nodiscard]] PoolSnapshot since(const PoolSnapshot& before, PoolSnapshot now);

// Returns a text of PoolFacts. Another process may have written it without the final NUL.
template <std::size_t size>
[[nodiscard]] std::string text_in(const std::array<char, size>& place) {
    return {place.begin(), std::find(place.begin(), place.end(), '\0')};
}

} // namespace rpmem::initiator
