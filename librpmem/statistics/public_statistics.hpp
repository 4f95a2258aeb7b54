// SPDX-License-Identifier: BSD-3-Clause
// The statistics that rpmem_stats() returns.
#pragma once

#include "librpmem/statistics/pool_snapshot.hpp"

#include <librpmem.h>

namespace rpmem::initiator {

[[nodiscard]] rpmem_pool_stats public_statistics(const PoolSnapshot& snapshot);

} // namespace rpmem::initiator
