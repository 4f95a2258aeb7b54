// What a second replica costs: a range made durable in one pool, and in two in turn.
#pragma once

#include "options.hpp"
#include "pool.hpp"
#include "report.hpp"

namespace rpmem::bench {

[[nodiscard]] Result<> measure_replicas(const Pool& first, const Options& options, Report& report);

} // namespace rpmem::bench
