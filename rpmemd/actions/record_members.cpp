// SPDX-License-Identifier: BSD-3-Clause
// The members of a document that come from the record of a pool: its identity, its last writer, and
// whether it may be behind or is catching up.
#include "common/base/hex.hpp"
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/registry/find_record.hpp"

#include <nlohmann/json.hpp>

namespace rpmem::target {
namespace {

using nlohmann::json;

// If the last claim was not closed and no daemon holds it, the pool may be behind since the claim
// began.
json behind_since(const PoolRecord& record, bool in_use) {
    if (record.behind_since != 0)
        return record.behind_since;
    return record.closed || in_use ? json(nullptr) : json(record.since);
}

} // namespace

json claim_members(const PoolRecord& record) {
    if (record.epoch == 0)
        return {{"pool_id", nullptr}, {"epoch", nullptr}, {"generation", nullptr}};
    return {
        {"pool_id", hex_of(record.id)}, {"epoch", record.epoch}, {"generation", record.generation}};
}

json record_members(const ActionContext& context, const PoolFacts& pool, bool in_use) {
    json members = {{"last_writer", nullptr},       {"behind_since", nullptr},
                    {"catching_up_since", nullptr}, {"alone_since", nullptr},
                    {"accepted_epoch", nullptr},    {"medium_failure", ""},
                    {"record_problem", ""}};
    const auto record = find_record(pool, context.state ? &*context.state : nullptr);
    members.update(claim_members(record ? record->value_or(PoolRecord{}) : PoolRecord{}));
    if (!record)
        members["record_problem"] = printable(record.error().text);
    if (!record || !*record)
        return members;
    const PoolRecord& known = **record;
    members["behind_since"] = behind_since(known, in_use);
    if (known.catching_up_since != 0)
        members["catching_up_since"] = known.catching_up_since;
    // While the program runs, or after it has closed the pool, nothing is missing that it knows of.
    if (known.alone_since != 0 && !members["behind_since"].is_null())
        members["alone_since"] = known.alone_since;
    if (known.accepted_epoch != 0)
        members["accepted_epoch"] = known.accepted_epoch;
    members["medium_failure"] = known.failure;
    if (!context.shows_sessions)
        return members;
    members["last_writer"] = {{"host", known.initiator.host},
                              {"user", known.initiator.user},
                              {"since", known.since},
                              {"closed", known.closed}};
    return members;
}

} // namespace rpmem::target
