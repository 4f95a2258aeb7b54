// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/actions/opened_record.hpp"

#include "rpmemd/registry/claim.hpp"

namespace rpmem::target {

Result<OpenedRecord> read_record(const ActionContext& context, Pool pool) {
    RPMEM_ASSIGN(const auto parts, pool.identify_parts());
    PoolRecordPlace place(pool.attribute(), context.state ? &*context.state : nullptr, parts.at(0),
                          PoolRecordPlace::Access::read_write);
    RPMEM_ASSIGN(auto record, place.read());
    if (record)
        record = as_found(std::move(*record), pool.modified_before());
    // To open the pool has modified its parts. The next session must not take that for the change
    // of another program.
    if (!pool.is_read_only() && record && record->modified != 0) {
        record->modified = 0;
        RPMEM_TRY(place.write(*record));
    }
    return OpenedRecord{std::move(pool), std::move(place), std::move(record)};
}

Result<OpenedRecord> open_record(ActionContext& context, const std::string& name) {
    PoolOptions options = context.pool_options;
    options.read_only = true;
    auto pool = open_pool(options, name, 0, context.log);
    if (pool && pool->hides_first_page()) {
        RPMEM_TRY(pool->close());
        options.read_only = false;
        pool = open_pool(options, name, 0, context.log);
    }
    if (!pool)
        return with_holder(context, name, std::move(pool).error());
    return read_record(context, std::move(*pool));
}

} // namespace rpmem::target
