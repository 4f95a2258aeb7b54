// SPDX-License-Identifier: BSD-3-Clause
// Finding pool set files by name beneath the daemon's directory, and nowhere else.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/store.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::target {

// EBADF for an absolute name and for one that leads out of poolset_dir.
Result<PoolSet> load_pool_set(const StoreOptions& options, std::string_view name);

// Parts, by their index, that are one file under two names.
struct SameFile {
    std::size_t first;
    std::size_t second;
};
[[nodiscard]] std::optional<SameFile> find_same_file(const PoolSet& pool_set);
[[nodiscard]] Failure describe(const SameFile& same, const PoolSet& pool_set);
// EINVAL if two parts are one file. The lock of the second one would fail as if another process
// had it.
[[nodiscard]] Result<> check_distinct(const PoolSet& pool_set);

// A new file, durable on return. EEXIST; EINVAL unless TEXT is that of a pool set file.
Result<> write_pool_set(const StoreOptions& options, std::string_view name, std::string_view text);

// For options.refuse_hidden: EACCES if a part NAME, relative to poolset_dir, is there, or its path
// is hidden. The pool would get what the file has.
Result<> check_new_part(const StoreOptions& options, const std::string& name);

Result<> unlink_pool_set(const StoreOptions& options, std::string_view name);

} // namespace rpmem::target
