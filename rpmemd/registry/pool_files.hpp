// SPDX-License-Identifier: BSD-3-Clause
// The files in state-dir for pools whose first part cannot have an extended attribute. The inode of
// the first part identifies a pool, and its path a Device DAX. A daemon that may write to the pool
// locks the file.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace rpmem::target {

// The record of a pool that was closed cleanly is kept for this time. An initiator that did not
// receive the response to CLOSE has given up by then.
inline constexpr std::chrono::hours closed_record_life(24);

[[nodiscard]] Result<std::string> pool_file_name(const PartIdentity& first_part);

// Opens and locks the file of a pool. Fails with ENOENT if there is none, and with EBUSY if another
// process holds the lock for more than 1 s.
[[nodiscard]] Result<StateFile> open_pool_file(const StateDirectory& directory,
                                               const std::string& name);
// Creates and locks the file of a pool. Fails with EEXIST, and like open_pool_file().
[[nodiscard]] Result<StateFile> make_pool_file(const StateDirectory& directory,
                                               const std::string& name);

// Returns the names of such files, like StateDirectory::names().
[[nodiscard]] std::vector<std::string> pool_file_names(const StateDirectory& directory);

// Removes the files of pools that were closed and not used for closed_record_life, unless the
// record has a failure, behind_since, or a field of has_states().
void remove_old_pool_files(const StateDirectory& directory);

} // namespace rpmem::target
