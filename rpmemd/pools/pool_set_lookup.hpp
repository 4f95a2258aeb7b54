// SPDX-License-Identifier: BSD-3-Clause
// Pool set files in the directory poolset_dir of the daemon.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/pool.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

// Reads and parses a pool set file. Fails with
//   ENOENT  there is no such file
//   EBADF   NAME is absolute, or leads out of poolset_dir without allow_outside
//   EACCES  this user may not open it, or other users may change it or a directory of its path
//   EINVAL  it is not a regular file, or not a valid pool set file
// and with the errno value of the system.
Result<PoolSet> load_pool_set(const PoolOptions& options, std::string_view name);

// The indices of two parts that are the same file.
struct SameFile {
    std::size_t first;
    std::size_t second;
};
[[nodiscard]] std::optional<SameFile> find_same_file(std::span<const std::filesystem::path> parts);
[[nodiscard]] Failure describe(const SameFile& same, std::span<const std::filesystem::path> parts);
// Fails with EINVAL if two parts are the same file. Without this check, locking the second one
// would fail as if another process had it, and two shared locks would not fail at all.
[[nodiscard]] Result<> check_distinct(std::span<const std::filesystem::path> parts);
// Returns the paths of files or directories.
[[nodiscard]] std::vector<std::filesystem::path> paths_of(const PoolSet& pool_set);

// Writes TEXT to a new file, durable on return. Fails with EEXIST, with EINVAL if TEXT is not a
// valid pool set file, and like load_pool_set(). With options.refuse_hidden, also fails with EACCES
// for a hidden path.
Result<> write_pool_set(const PoolOptions& options, std::string_view name, std::string_view text);

// Call it with options.refuse_hidden before a pool with the part NAME, relative to poolset_dir, is
// created. Fails with EACCES if the file exists, because the pool would expose its contents, or if
// the path is hidden.
Result<> check_new_part(const PoolOptions& options, const std::string& name);

// Removes the file, durable on return. Fails with EINVAL if it does not begin as a pool set file,
// and like load_pool_set() while the file is opened.
Result<> unlink_pool_set(const PoolOptions& options, std::string_view name);

} // namespace rpmem::target
