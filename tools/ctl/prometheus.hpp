// SPDX-License-Identifier: BSD-3-Clause
// Metrics of the pools of running programs, see `rpmemctl export` in rpmemctl(1).
#pragma once

#include "librpmem/statistics/pool_snapshot.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace rpmem::ctl {

// Returns the text of the file. It contains only the first of several pools with equal labels,
// because Prometheus rejects a file with duplicate samples, and a program chooses the name in its
// counters. NOW is the current time in seconds since the epoch. An exporter that is killed leaves
// its file, and the time in the file shows that it is stale.
[[nodiscard]] std::string metrics_of(std::span<const initiator::PoolSnapshot> pools,
                                     std::uint64_t now);

} // namespace rpmem::ctl
