// SPDX-License-Identifier: BSD-3-Clause
// Computes the record of a pool when a session opens the pool for writing.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/records.hpp"

#include <optional>

namespace rpmem::target {

// Returns the record that follows LAST. NEXT has the new claim, the parts and the headers.
//   a later generation of the same claim  keeps id, epoch, since, failure and behind_since
//   the first session of an initiator     keeps id and failure; the next epoch; sets behind_since,
//                                         unless it is set, if LAST was not closed
//   a session that creates the pool       a new id and the next epoch, the rest cleared
[[nodiscard]] Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next,
                                        bool goes_on, bool created);

} // namespace rpmem::target
