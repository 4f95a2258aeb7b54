// SPDX-License-Identifier: BSD-3-Clause
// The pools of running programs, for Prometheus: see `rpmemctl export` in rpmemctl(1).
#pragma once

#include "librpmem/statistics/pool_snapshot.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace rpmem::ctl {

// Of pools with equal labels, only the first is written: Prometheus refuses a file that has a
// sample twice, and a program chooses the name in its counters. NOW: seconds since the epoch. An
// exporter that was killed leaves its file; the time in it shows that nobody writes it any more.
[[nodiscard]] std::string metrics_of(std::span<const initiator::PoolSnapshot> pools,
                                     std::uint64_t now);

} // namespace rpmem::ctl
