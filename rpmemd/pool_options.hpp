// SPDX-License-Identifier: BSD-3-Clause
// Converts the configuration of the daemon to the options of the pool store.
#pragma once

#include "rpmemd/pools/pool.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <utility>

namespace rpmem::target {

inline PoolOptions pool_options_of(const Configuration& configuration, Cancelled cancelled = {}) {
    return {.poolset_dir = configuration.poolset_dir,
            .allow_outside = configuration.allow_outside,
            .refuse_hidden = configuration.stays_beneath,
            .cancelled = std::move(cancelled),
            .part_mode = configuration.part_mode,
            .read_only = configuration.read_only,
            .refuse_volatile = configuration.volatile_medium == VolatileMedium::refuse,
            .require_deep_flush = configuration.deep_flush == DeepFlush::require};
}

} // namespace rpmem::target
