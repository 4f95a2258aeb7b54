// SPDX-License-Identifier: BSD-3-Clause
// The metrics of a session for Prometheus, see stats-dir in rpmemd(1).
#pragma once

#include "rpmemd/statistics/worker_counters.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rpmem::target {

// The facts of a session that do not change.
struct SessionFacts {
    std::string pool_set;
    std::string initiator; // host name or address; empty if unknown
    std::uint64_t pool_size = 0;
    std::uint64_t began = 0; // seconds since the epoch
    pid_t process = 0;
};

using AllCounters = std::span<const std::shared_ptr<const WorkerCounters>>;

[[nodiscard]] std::string metrics_of(const SessionFacts& facts, AllCounters workers,
                                     double nanoseconds_of_tick);

} // namespace rpmem::target
