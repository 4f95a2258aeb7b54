// What a second replica costs: a range made durable in one pool, and in two in turn.
#pragma once

#include "tools/bench/options.hpp"
#include "tools/bench/pool.hpp"
#include "tools/bench/report.hpp"

namespace rpmem::bench {

[[nodiscard]] Result<> measure_replicas(const Pool& first, const Options& options, Report& report);

} // namespace rpmem::bench
