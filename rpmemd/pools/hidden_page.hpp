// SPDX-License-Identifier: BSD-3-Clause
// Hides the first page of a pool that is catching up. In a pool with headers it is the header of
// part 0, which the daemon writes itself:
//
//   shown  -> hidden  Pool::hide_first_page(): the page is saved, then zeros replace it
//   hidden -> shown   Pool::show_first_page(), restore_first_page(): the page is written back, then
//                     the saved one is discarded
//
// While the page is hidden, a change of the header changes only the saved page. After a step that
// was interrupted, the page in the part is compared with the saved one. If it is a remainder of the
// saved page (see is_remainder()) and differs from it, it is hidden. Otherwise the saved page is
// discarded.
//
// In a pool without headers the page has bytes of the application, which the initiator sends after
// all other bytes. So show_first_page() leaves the page in the part as it is. Only
// restore_first_page() writes the saved page back.
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

// Completes a step that was interrupted. Call it in a session that may write.
Result<> settle_first_page(MappedPool& pool, const PartFile& first);

// Returns the saved header of part 0, if it is hidden. The pool need not be open.
std::optional<PoolHeader> hidden_header(const PoolOptions& options, std::string_view pool_set,
                                        const PartFile& first);

// Returns the header of part number INDEX, or the saved one if it is hidden.
Result<PoolHeader> header_of(const MappedPool& pool, const PartFile& part, std::size_t index);

// Writes the header of part number INDEX, durable on return. A hidden header stays hidden.
Result<> write_header_of(const MappedPool& pool, const PartFile& part, std::size_t index,
                         SyncTracker* syncs = nullptr);

} // namespace rpmem::target
