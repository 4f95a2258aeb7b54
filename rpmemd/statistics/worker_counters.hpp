// SPDX-License-Identifier: BSD-3-Clause
// The counters of a worker, summed over its lanes.
#pragma once

#include "common/base/cache_line.hpp"
#include "common/statistics/call_totals.hpp"
#include "common/statistics/ticks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace rpmem::target {

// Written by one thread, so it needs no locked instruction. Other threads never read a torn value.
class Counter {
public:
    void add(std::uint64_t more) { set(value() + more); }
    void set(std::uint64_t now) { value_.store(now, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_ = 0;
};

// The requests of an initiator on a lane. A drain is a persist without a range.
enum class RequestKind : unsigned { write, persist, deep_persist, drain, read, digest };
inline constexpr std::array<std::string_view, 6> request_names{"write", "persist", "deep_persist",
                                                               "drain", "read",    "digest"};
struct RequestCounters {
    Counter requests;
    Counter bytes;
};

// See rpmemd/durability/medium.hpp.
enum class MediumCall : unsigned { persist, deep_persist };
inline constexpr std::array<std::string_view, 2> medium_call_names{"persist", "deep_persist"};

// Counts successful calls only.
struct MediumCounters {
    Counter bytes;
    Counter ticks; // total duration
    std::array<Counter, statistics::buckets> calls;

    void count(std::uint64_t length, std::uint64_t began) {
        const std::uint64_t took = statistics::ticks() - began;
        calls[statistics::bucket_of(took)].add(1);
        ticks.add(took);
        bytes.add(length);
    }
};

// Aligned, so that workers do not share cache lines.
struct alignas(cache_line) WorkerCounters {
    std::array<RequestCounters, request_names.size()> requests;
    std::array<MediumCounters, medium_call_names.size()> medium;
    Counter acknowledgements;
    Counter lanes; // connected lanes
    Counter ended_lanes;
    Counter failures; // lanes that ended the session

    void count(RequestKind kind, std::uint64_t length) {
        RequestCounters& of = requests[static_cast<unsigned>(kind)];
        of.requests.add(1);
        of.bytes.add(length);
    }
    [[nodiscard]] MediumCounters& of(MediumCall call) {
        return medium[static_cast<unsigned>(call)];
    }
};

} // namespace rpmem::target
