// SPDX-License-Identifier: BSD-3-Clause
// Google Benchmark's report of the cases, as a table or as JSON.
#pragma once

#include "tools/bench/options.hpp"

#include <benchmark/benchmark.h>

#include <memory>

namespace rpmem::bench {

// Of all that Google Benchmark makes of the rounds of a case it reports the median, and beside it
// the best of them.
[[nodiscard]] std::unique_ptr<benchmark::BenchmarkReporter> make_report(const Options& options);

} // namespace rpmem::bench
