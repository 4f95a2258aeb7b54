// SPDX-License-Identifier: BSD-3-Clause
// The cases, each a benchmark of Google Benchmark: one of its repetitions is one round, in which
// ours and its limit are measured in turn.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/options.hpp"

namespace rpmem::bench {

// Measures and reports the wanted cases. LIMITS: the socket to those of the network; -1 if there
// are none. The first error ends the run.
[[nodiscard]] Result<> run_cases(const Options& options, int limits);

// The preset --table: the results, their limits, and whether they are within them. Runs this
// program once for each group of rows, because settings are read once. The exit status.
[[nodiscard]] int run_table(const Options& options);

} // namespace rpmem::bench
