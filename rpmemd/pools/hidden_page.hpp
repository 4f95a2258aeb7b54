// SPDX-License-Identifier: BSD-3-Clause
// Hides the first page of a pool that is catching up. In a pool with headers it is the header of
// part 0, which the daemon writes itself:
//
//   shown  -> hidden  Pool::hide_first_page(): the page is saved, then zeros replace it
//   hidden -> shown   Pool::show_first_page(), restore_first_page(): the page is written back, then
//                     the saved one is discarded
//
// Meanwhile each change of the header goes to the saved page. The saved page is valid only between
// these two, so a page that an interrupted change has left in the part shows what to do.
//
// In a pool without headers the page has bytes of the application. The initiator sends it after all
// other bytes, so what the part has is never replaced, except by restore_first_page().
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/mapping.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace rpmem::target {

struct PoolOptions;

// Opens the file for the first page of POOL, whose first part is FIRST. Without a directory for it,
// or if it cannot be used, the page of this pool is never hidden. A session that may write logs
// that as a warning. It fails with ENOTSUP if a later version has written the file.
Result<> open_first_page(const PoolOptions& options, const PartFile& first, MappedPool& pool);

// Finds out whether the page of POOL is hidden.
Result<> look_at_first_page(MappedPool& pool, const PartFile& first);

// Completes an interrupted change. Call it in a session that may write.
Result<> settle_first_page(MappedPool& pool, const PartFile& first);

// Returns the header of part 0 of a pool of which only the options are known, if it is hidden.
std::optional<PoolHeader> hidden_header(const PoolOptions& options, std::string_view pool_set,
                                        const PartFile& first);

// Returns the header of part number INDEX, and the saved one if it is hidden.
Result<PoolHeader> header_of(const MappedPool& pool, const PartFile& part, std::size_t index);

// Writes the header of part number INDEX, durable on return. A hidden one stays hidden.
Result<> write_header_of(const MappedPool& pool, const PartFile& part, std::size_t index,
                         SyncTracker* syncs = nullptr);

} // namespace rpmem::target
