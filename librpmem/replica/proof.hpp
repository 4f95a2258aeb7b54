// SPDX-License-Identifier: BSD-3-Clause
// Decides whether the memory of this process is proved to be at least as new as the replica.
// Without a proof nothing may be sent that no call has named: a restored backup would overwrite the
// only good copy. No input or output.
#pragma once

#include "common/wire/unsolicited.hpp"
#include "librpmem/replica/initiator_record.hpp"
#include "librpmem/replica/local_files.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

// Whether both name the same files in the same order, whenever they were modified.
[[nodiscard]] bool are_same_files(const std::vector<LocalFile>& left,
                                  const std::vector<LocalFile>& right);

// Returns why there is no proof, or nothing if there is one: RECORD was made by the last session
// that wrote to the pool of TARGET, from the same FILES as now, and none of them was modified last
// before that. A copy restored by cp -p or rsync -t has an earlier mtime. Restoring by rename makes
// another inode.
[[nodiscard]] std::optional<std::string> missing_proof(const wire::PoolState& target,
                                                       const std::optional<InitiatorRecord>& record,
                                                       const std::vector<LocalFile>& files);

} // namespace rpmem::initiator
