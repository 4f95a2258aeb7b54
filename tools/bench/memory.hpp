// What the daemon keeps for lanes that are connected and idle.
#pragma once

#include "tools/bench/limits.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/report.hpp"

namespace rpmem::bench {

[[nodiscard]] Result<> measure_memory(const Options& options, const Limits& limits, Report& report);

} // namespace rpmem::bench
