// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/pool_snapshot.hpp"

#include "common/base/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <string_view>

namespace rpmem::initiator {
namespace {

// More lanes than any target has. A file with a larger number could keep a reader busy for days.
constexpr std::uint32_t max_lanes = 65536;

constexpr double max_tick = 1e6; // nanoseconds; a tick of a processor is shorter than 1e3

// Reads a part of the file. A mapping would raise a signal if the owner of the file truncated it.
template <typename Value>
Result<> read_at(int file, std::size_t offset, Value& value) {
    const ssize_t got = ::pread(file, &value, sizeof(value), static_cast<off_t>(offset));
    if (got == static_cast<ssize_t>(sizeof(value)))
        return {};
    return fail(ErrorClass::caller_fault, got < 0 ? errno : EINVAL,
                "not a pool statistics file: it ends before {} bytes at offset {}", sizeof(value),
                offset);
}

void add(PoolSnapshot& snapshot, const LaneCounters& lane) {
    snapshot.unconfirmed_bytes += lane.unconfirmed;
    snapshot.waits += lane.waits;
    for (std::size_t kind = 0; kind < call_kinds; ++kind) {
        CallTotals& totals = snapshot.of[kind];
        totals.bytes += lane.of[kind].bytes;
        totals.ticks += lane.of[kind].ticks;
        std::transform(totals.calls.begin(), totals.calls.end(), lane.of[kind].calls.begin(),
                       totals.calls.begin(), std::plus<>());
    }
}

} // namespace

Result<PoolSnapshot> read_counters(int file) {
    PoolCounterHeader header{};
    RPMEM_TRY(read_at(file, 0, header));
    if (header.magic != counter_magic)
        return invalid("not a pool statistics file: it begins with \"{}\", expected \"{}\"",
                       printable({header.magic.data(), header.magic.size()}),
                       std::string_view(counter_magic.data(), counter_magic.size()));
    if (header.version != counter_version || header.size != sizeof(PoolCounterHeader) ||
        header.size_of_lane != sizeof(LaneCounters))
        return fail(
            ErrorClass::caller_fault, EPROTONOSUPPORT,
            "the statistics have version {}, a header of {} bytes and lanes of {}; expected "
            "are version {}, {} and {} bytes: the program uses another version of librpmem "
            "than this tool; restart it",
            header.version, header.size, header.size_of_lane, counter_version,
            sizeof(PoolCounterHeader), sizeof(LaneCounters));
    struct stat status {};
    if (header.facts.lane_count > max_lanes || ::fstat(file, &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) !=
            lanes_begin + std::uint64_t{header.facts.lane_count} * sizeof(LaneCounters))
        return invalid("the statistics of {} lanes have {} bytes, expected {} (at most {} lanes)",
                       header.facts.lane_count, status.st_size,
                       lanes_begin + std::uint64_t{header.facts.lane_count} * sizeof(LaneCounters),
                       max_lanes);
    if (!(header.facts.nanoseconds_of_tick > 0 && header.facts.nanoseconds_of_tick <= max_tick))
        return invalid("the statistics have a tick of {} ns; it must be more than 0 and at most {}",
                       header.facts.nanoseconds_of_tick, max_tick);
    PoolSnapshot snapshot{.process = header.process, .facts = header.facts, .of = {}};
    const auto lane = std::make_unique<LaneCounters>();
    for (std::size_t index = 0; index < header.facts.lane_count; ++index) {
        RPMEM_TRY(read_at(file, lanes_begin + index * sizeof(LaneCounters), *lane));
        add(snapshot, *lane);
    }
    return snapshot;
}

CallSummary summarize(const PoolSnapshot& snapshot, CallKind call) {
    const CallTotals& totals = snapshot.of[static_cast<unsigned>(call)];
    // Another process may have written any number of ticks.
    const auto nanoseconds = [&](std::uint64_t ticks) {
        constexpr double max_nanoseconds = 9e18;
        return static_cast<std::uint64_t>(std::min(
            static_cast<double>(ticks) * snapshot.facts.nanoseconds_of_tick, max_nanoseconds));
    };
    const auto at = [&](double share) {
        return nanoseconds(statistics::quantile(totals.calls, share));
    };
    return {.calls = std::accumulate(totals.calls.begin(), totals.calls.end(), std::uint64_t{0}),
            .bytes = totals.bytes,
            .total = nanoseconds(totals.ticks),
            .p50 = at(0.5),
            .p99 = at(0.99),
            .p999 = at(0.999),
            .max = at(1)};
}

PoolSnapshot since(const PoolSnapshot& before, PoolSnapshot now) {
    now.facts.reconnects -= before.facts.reconnects;
    now.facts.replayed_bytes -= before.facts.replayed_bytes;
    now.waits -= before.waits;
    for (std::size_t kind = 0; kind < call_kinds; ++kind) {
        CallTotals& totals = now.of[kind];
        totals.bytes -= before.of[kind].bytes;
        totals.ticks -= before.of[kind].ticks;
        std::transform(totals.calls.begin(), totals.calls.end(), before.of[kind].calls.begin(),
                       totals.calls.begin(), std::minus<>());
    }
    return now;
}

} // namespace rpmem::initiator
