// SPDX-License-Identifier: BSD-3-Clause
// The cases. Each is a benchmark of Google Benchmark. Each repetition is a round, which measures
// the library and then raw TCP.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/options.hpp"

namespace rpmem::bench {

// Measures and reports the selected cases. LIMITS is the socket from start_limits(), or -1 if raw
// TCP cannot be measured. The first error ends the run.
[[nodiscard]] Result<> run_cases(const Options& options, int limits);

// Runs --table: prints the results, their limits, and whether they are within them. Runs this
// program once for each group of rows, because the library reads its settings only once. Returns
// the exit status.
[[nodiscard]] int run_table(const Options& options);

} // namespace rpmem::bench
