// SPDX-License-Identifier: BSD-3-Clause
// The charts of a page, from the rows of one report or of two.
#pragma once

#include "tools/bench/chart.hpp"
#include "tools/bench/measured.hpp"

#include <vector>

namespace rpmem::bench {

// 4096: "4 KiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// Each is empty where nothing was measured for it. OTHER may be null.
//
// One chart for each operation: how long it took, by size, on the fewest lanes.
[[nodiscard]] std::vector<Chart> latency_charts(const Measured& ours, const Measured* other);
// One chart for each operation: bytes a second, by lanes; a line for each size.
[[nodiscard]] std::vector<Chart> throughput_charts(const Measured& ours, const Measured* other);
// Our time by that of raw TCP: by size, and by lanes.
[[nodiscard]] std::vector<Chart> limit_charts(const Measured& ours, const Measured* other);
// The time of the other report by ours: by size, and by lanes.
[[nodiscard]] std::vector<Chart> comparison_charts(const Measured& ours, const Measured& other);

} // namespace rpmem::bench
