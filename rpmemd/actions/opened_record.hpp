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

// Opens the pool NAME for reading, and reads its record. The shared lock keeps writers out. Fails
// like open_pool(), with the sessions that have the pool in the text.
[[nodiscard]] Result<OpenedRecord> open_record(ActionContext& context, const std::string& name);

} // namespace rpmem::target
