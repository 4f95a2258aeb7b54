// SPDX-License-Identifier: BSD-3-Clause
// The action mark-equal clears the marks that a pool may be behind, and that it is catching up.
// rpmemctl requests it after it has compared the pool with its source and has copied the
// differences. The claim in the request shows whether a session has opened the pool for writing
// since then.
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/registry/pool_record_place.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <utility>

namespace rpmem::target {
namespace {

using nlohmann::json;

Failure other_claim(const ActionRequest& request, const std::string& found) {
    return fail(ErrorClass::caller_fault, ESTALE,
                "pool {} was opened for writing since it was compared: its claim is {}, and {} was "
                "expected; compare it again",
                request.name, found, request.claim);
}

} // namespace

Result<Pool> open_for_record(ActionContext& context, const std::string& name) {
    PoolOptions options = context.pool_options;
    options.read_only = true;
    auto pool = open_pool(options, name, 0, context.log);
    if (!pool || !pool->hides_first_page())
        return pool;
    RPMEM_TRY(pool->close());
    options.read_only = false;
    return open_pool(options, name, 0, context.log);
}

// The lock keeps writers out. Only a hidden first page changes.
ActionResult mark_equal(ActionContext& context, const ActionRequest& request) {
    auto pool = open_for_record(context, request.name);
    if (!pool)
        return with_holder(context, request.name, std::move(pool).error());
    RPMEM_ASSIGN(const auto parts, pool->identify_parts());
    PoolRecordPlace place(pool->attribute(), context.state ? &*context.state : nullptr, parts.at(0),
                          PoolRecordPlace::Access::read_write);
    RPMEM_ASSIGN(auto record, place.read());
    if (!record)
        return other_claim(request, "that of no writer");
    if (const std::string found = claim_text(*record); found != request.claim)
        return other_claim(request, found);
    const bool was_behind = !record->closed || record->behind_since != 0;
    const bool was_catching_up = record->catching_up_since != 0;
    record->closed = true;
    record->behind_since = 0;
    record->catching_up_since = 0;
    record->alone_since = 0;
    const bool was_accepted = std::exchange(record->accepted_epoch, 0) != 0;
    RPMEM_TRY(pool->show_first_page());
    if (was_behind || was_catching_up || was_accepted)
        RPMEM_TRY(place.write(*record));
    json report{
        {"name", request.name}, {"was_behind", was_behind}, {"was_catching_up", was_catching_up}};
    report.update(claim_members(*record));
    RPMEM_TRY(pool->close());
    return report;
}

} // namespace rpmem::target
