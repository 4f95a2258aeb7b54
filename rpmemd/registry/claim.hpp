// SPDX-License-Identifier: BSD-3-Clause
// Computes the record of a pool when a session opens the pool for writing.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/records.hpp"

#include <chrono>
#include <optional>

namespace rpmem::target {

// Returns the record that follows LAST. NEXT has the new claim, the parts and the headers.
// The time of modification becomes unknown.
//   a later generation of the same claim  keeps id, epoch, since, failure and marks
//   another session                       keeps id, failure and marks; has the next epoch; sets
//                                         behind_since if LAST was not closed and it is not set
//   a session that creates the pool       has a new id and the next epoch; clears the rest
[[nodiscard]] Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next,
                                        bool goes_on, bool created);

// Whether another program has changed the pool since the session of LAST ended. NOW has the headers
// and the time of modification that the pool has now. Both may be unknown.
[[nodiscard]] bool is_changed_by_others(const PoolRecord& last, const PoolRecord& now);

// Returns RECORD after such a change: a claim of nobody has written. So no initiator can prove that
// its memory is the newer side, none can resume, and the pool may be behind.
[[nodiscard]] PoolRecord changed_by_others(PoolRecord record);

// Returns RECORD, or what changed_by_others() makes of it if its parts were modified MODIFIED, and
// the record has another time. For actions, which look at a pool without a session.
[[nodiscard]] PoolRecord as_found(PoolRecord record, std::chrono::nanoseconds modified);

// See wire::ReplicaState.
enum class ReplicaState { in_sync, catching_up, may_go_alone };

// Returns RECORD after a change to STATE. MAY_GO_ALONE: the initiator of this session may still go
// on without the replica, so in_sync keeps alone_since.
[[nodiscard]] PoolRecord with_state(PoolRecord record, ReplicaState state, bool may_go_alone);

// Returns RECORD after an operator has accepted the pool as it is: a new epoch that belongs to no
// initiator, closed and without marks. A session of an earlier claim cannot resume.
[[nodiscard]] PoolRecord accepted(PoolRecord record);

// Whether the initiator may have acknowledged calls that this replica lacks.
[[nodiscard]] bool may_be_ahead(const PoolRecord& record);

} // namespace rpmem::target
