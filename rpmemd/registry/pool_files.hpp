// SPDX-License-Identifier: BSD-3-Clause
// The files of pools in state-dir, for pools whose first part cannot have an attribute. A pool is
// identified by the inode of its first part, a Device DAX by its path. The daemon that has the pool
// has its file locked.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/part_identity.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace rpmem::target {

// A pool that was closed in order so long ago needs no record: an initiator that closed it, and did
// not hear of that, has given up by now.
inline constexpr std::chrono::hours closed_record_life(24);

[[nodiscard]] Result<std::string> pool_file_name(const PartIdentity& first_part);

// Locked, and still there when it was. ENOENT; EBUSY: another process looks at it for long.
[[nodiscard]] Result<StateFile> open_pool_file(const StateDirectory& directory,
                                               const std::string& name);
// Likewise.
[[nodiscard]] Result<StateFile> make_pool_file(const StateDirectory& directory,
                                               const std::string& name);

// Of all pools that have one.
[[nodiscard]] std::vector<std::string> pool_file_names(const StateDirectory& directory);

// Those of pools that were closed, and not seen for closed_record_life.
void remove_old_pool_files(const StateDirectory& directory);

} // namespace rpmem::target
