// SPDX-License-Identifier: BSD-3-Clause
// The record of a pool that an action changes while no session can write to the pool.
#pragma once

#include "rpmemd/actions/actions.hpp"
#include "rpmemd/registry/pool_record_place.hpp"

namespace rpmem::target {

struct OpenedRecord {
    Pool pool;             // locked
    PoolRecordPlace place; // uses a part of POOL
    std::optional<PoolRecord> record;
};

// Reads the record of POOL, which is open. Fails like PoolRecordPlace::read().
[[nodiscard]] Result<OpenedRecord> read_record(const ActionContext& context, Pool pool);

// Opens the pool NAME, and reads its record. The pool is read-only, so that no byte of a part
// changes, unless its first page is hidden. Its lock keeps writers out in both cases. Fails like
// open_pool(), with the sessions that have the pool in the text.
[[nodiscard]] Result<OpenedRecord> open_record(ActionContext& context, const std::string& name);

} // namespace rpmem::target
