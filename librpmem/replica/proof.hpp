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

// Whether both name the same files in the same order. The mtimes may differ.
[[nodiscard]] bool are_same_files(const std::vector<LocalFile>& left,
                                  const std::vector<LocalFile>& right);

// Returns why there is no proof, or nothing if there is one. RECORD proves it if the last session
// that wrote to the pool of TARGET has made it, if it names the present FILES, and if none of them
// has an earlier mtime than in RECORD. A backup that is restored by cp -p or rsync -t has an
// earlier mtime. One that is restored by rename has another inode.
[[nodiscard]] std::optional<std::string> missing_proof(const wire::PoolState& target,
                                                       const std::optional<InitiatorRecord>& record,
                                                       const std::vector<LocalFile>& files);

} // namespace rpmem::initiator
