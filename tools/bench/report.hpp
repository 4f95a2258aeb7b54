// SPDX-License-Identifier: BSD-3-Clause
// Google Benchmark's report of the cases, as a table or as JSON.
#pragma once

#include "tools/bench/options.hpp"

#include <benchmark/benchmark.h>

#include <memory>

namespace rpmem::bench {

// Returns a reporter that prints the median of the rounds of each case, with the best round beside
// it.
[[nodiscard]] std::unique_ptr<benchmark::BenchmarkReporter> make_report(const Options& options);

} // namespace rpmem::bench
