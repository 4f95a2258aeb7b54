// SPDX-License-Identifier: BSD-3-Clause
// Finds the record of a pool that no session of this process has.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"

#include <optional>
#include <string>

namespace rpmem::target {

// STATE is null if state-dir cannot be used. Returns nothing if the pool has no record. The change
// of another program is in the record, see as_found().
[[nodiscard]] Result<std::optional<PoolRecord>> find_record(const PoolFacts& pool,
                                                            const StateDirectory* state);

// Fails with EPERM if only an operator may remove the pool: its marks show that its initiator will
// make it equal, or an operator has accepted it. pmempool sync removes every replica that it cannot
// open or that does not fit its own headers. NAME is the pool set. A pool that cannot be examined
// may be removed.
[[nodiscard]] Result<> check_removal(const PoolOptions& options, const std::string& name,
                                     const StateDirectory* state);

} // namespace rpmem::target
