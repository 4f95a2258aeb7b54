// SPDX-License-Identifier: BSD-3-Clause
// Computes the record of a pool when a session opens the pool for writing.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/records.hpp"

#include <optional>

namespace rpmem::target {

// Returns the record that follows LAST. NEXT has the new claim, the parts and the headers.
//   a later generation of the same claim  keeps id, epoch and marks
//   the first session of an initiator     the next epoch; a claim that was not closed leaves a mark
//   a session that creates the pool       a new id and the next epoch, without marks
[[nodiscard]] Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next,
                                        bool goes_on, bool created);

} // namespace rpmem::target
