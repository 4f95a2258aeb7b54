// SPDX-License-Identifier: BSD-3-Clause
// Measures what a replica costs that was away (RPMEM_ON_LOSS=alone), and the comparison before the
// first write. Both need other settings than the other cases, and the library reads its settings
// only once. So each round runs in a new process of this program.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/measuring.hpp"
#include "tools/bench/options.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace rpmem::bench {

// The internal option that starts such a process.
inline constexpr const char* away_half = "--away";

// What the process measures. The first line that it reads.
struct AwayTask {
    std::string target;
    std::string pool_set;
    std::string directory; // for the memory of the pool; an empty directory
    std::size_t pool_size = 0;
    Pace pace{};           // of calls, and of marks
    bool compares = false; // the comparison, instead of an absence
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AwayTask, target, pool_set, directory, pool_size, pace, compares)

// Durations in milliseconds unless the name says otherwise.
struct AwayRound {
    double push = 0;             // rpmemctl push of the whole pool, while it copies
    double persist = 0;          // one persist of the whole pool in a new session
    double catch_up = 0;         // the same bytes, without other calls
    double join_pause = 0;       // longest call during all catch-ups of the round
    double p99_us = 0;           // 99th percentile of calls while the replica is in sync
    double catch_up_p99_us = 0;  // while it catches up
    double capped_p99_us = 0;    // while it catches up at half the rate of that persist
    double mark_ns = 0;          // a store and a persist while the replica is away
    double flush_ns = 0;         // a store and a local flush of the same range
    double comparing_write = 0;  // first write of a session that compares the whole pool
    double first_write = 0;      // first write of a session that compares nothing
    std::string not_supported{}; // why nothing was measured, or empty
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AwayRound, push, persist, catch_up, join_pause, p99_us,
                                   catch_up_p99_us, capped_p99_us, mark_ns, flush_ns,
                                   comparing_write, first_write, not_supported)

// Measures one round in a new process. COMPARES: the comparison, instead of an absence.
[[nodiscard]] Result<AwayRound> measure_away_once(const Options& options, bool compares);

// Runs that process: reads the task from INPUT, and writes its result to OUTPUT.
void serve_away(int input, int output);

// The two measurements of that process.
[[nodiscard]] Result<AwayRound> measure_absence(const AwayTask& task);
[[nodiscard]] Result<AwayRound> measure_comparison(const AwayTask& task);

} // namespace rpmem::bench
