// SPDX-License-Identifier: BSD-3-Clause
// The pools of this process, for Prometheus: see RPMEM_STATS_DIR in librpmem(7).
#pragma once

#include "librpmem/statistics/pool_snapshot.hpp"

#include <span>
#include <string>

namespace rpmem::initiator {

[[nodiscard]] std::string metrics_of(std::span<const PoolSnapshot> pools);

} // namespace rpmem::initiator
