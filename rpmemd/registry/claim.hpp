// SPDX-License-Identifier: BSD-3-Clause
// How the record of a pool changes when a session opens the pool for writing. Pure, but for the
// random name of a new pool.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/records.hpp"

#include <optional>

namespace rpmem::target {

// The record after LAST with the claim of NEXT, of which claim, parts and headers are set.
//   a later generation of the same claim  keeps id, epoch and marks
//   the first session of an initiator     the next epoch; a claim that was not closed leaves a mark
//   a session that creates the pool       a new id and the next epoch, without marks
[[nodiscard]] Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next,
                                        bool goes_on, bool created);

} // namespace rpmem::target
