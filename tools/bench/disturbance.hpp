// What strangers cost who connect to the port of the lanes.
#pragma once

#include "tools/bench/limits.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/pool.hpp"
#include "tools/bench/report.hpp"

namespace rpmem::bench {

// Persists in turn with the same while nobody else connects.
[[nodiscard]] Result<> measure_disturbance(const Pool& pool, const Options& options,
                                           const Limits& limits, Report& report);

} // namespace rpmem::bench
