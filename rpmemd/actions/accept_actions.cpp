// SPDX-License-Identifier: BSD-3-Clause
// The actions accept and take: an operator of this machine decides that this copy of a pool is the
// right one. Both give it a new epoch that belongs to no initiator. Then the former initiator can
// neither resume its session nor send what its memory has. accept does nothing if the record shows
// that the pool lacks nothing. take also ends the session, and makes the pool one that libpmemobj
// opens on this machine.
//
// A take can be repeated after a crash at any step: sessions end first, then the record changes,
// and last the headers.
#include "common/base/deadline.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/actions/opened_record.hpp"
#include "rpmemd/registry/claim.hpp"
#include "rpmemd/registry/evict.hpp"
#include "rpmemd/registry/find_record.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace rpmem::target {
namespace {

using nlohmann::json;

// A client that was evicted may log in once more and lock the pool until it is refused.
constexpr std::chrono::seconds lock_timeout(5);
constexpr std::chrono::milliseconds lock_pause(20);

json marks_of(const PoolRecord& record) {
    const auto time = [](std::int64_t since) { return since == 0 ? json(nullptr) : json(since); };
    return {{"catching_up_since", time(record.catching_up_since)},
            {"alone_since", time(may_be_ahead(record) ? record.alone_since : 0)},
            {"behind_since", time(record.behind_since != 0 ? record.behind_since
                                  : record.closed          ? 0
                                                           : record.since)}};
}

bool has_marks(const PoolRecord& record) {
    return !record.closed || record.behind_since != 0 || record.catching_up_since != 0;
}

// Fails with ESTALE if the pool may lack what a call of its initiator has acknowledged.
Result<> check_losses(const ActionRequest& request, const PoolRecord& record) {
    if (request.accept_loss)
        return {};
    if (record.catching_up_since != 0)
        return fail(ErrorClass::target_refused, ESTALE,
                    "pool {} is not taken: it is catching up with {} since {}, and its bytes are "
                    "inconsistent; start the program there again, or use --accept-loss",
                    request.name, describe(record.initiator),
                    describe_time(record.catching_up_since));
    if (may_be_ahead(record))
        return fail(ErrorClass::target_refused, ESTALE,
                    "pool {} is not taken: the session of {} that began {} could go on without it "
                    "(RPMEM_ON_LOSS=alone) and was not closed, so it may lack what that program "
                    "wrote since; start the program there again, or use --accept-loss",
                    request.name, describe(record.initiator), describe_time(record.alone_since));
    return {};
}

Result<json> end_sessions(ActionContext& context, const ActionRequest& request) {
    json ended = json::array();
    for (const LiveSession& session : sessions_of(context, request.name)) {
        const auto evicted =
            evict(*context.state, session.id, context.pool_options.part_mode, context.log);
        if (!evicted && evicted.error().code != ENOENT) // it may have ended meanwhile
            return Failure(evicted.error());
        ended.push_back(json_of(session));
    }
    return ended;
}

Result<Pool> open_when_free(ActionContext& context, const std::string& name) {
    const Deadline deadline(lock_timeout);
    auto pool = open_pool(context.pool_options, name, 0, context.log);
    while (!pool && pool.error().code == EBUSY && !deadline.passed()) {
        std::this_thread::sleep_for(lock_pause);
        pool = open_pool(context.pool_options, name, 0, context.log);
    }
    if (!pool)
        return with_holder(context, name, std::move(pool).error());
    return pool;
}

// Makes the replica its own neighbour, as in a pool that libpmemobj has created without other
// replicas. Returns whether the headers were changed.
Result<bool> separate(Pool& pool) {
    if (!pool.has_headers())
        return false;
    rpmem_pool_attr attributes = pool.attributes();
    const rpmem_pool_attr former = attributes;
    std::ranges::copy(attributes.uuid, attributes.prev_uuid);
    std::ranges::copy(attributes.uuid, attributes.next_uuid);
    if (std::memcmp(&attributes, &former, sizeof(former)) == 0)
        return false;
    RPMEM_TRY(pool.set_attributes(attributes));
    return true;
}

ActionResult store_accepted(PoolRecordPlace& place, PoolRecord record) {
    json members = marks_of(record);
    record = accepted(std::move(record));
    RPMEM_TRY(place.write(record));
    members.update(claim_members(record));
    return members;
}

} // namespace

// The lock keeps writers out. Only a hidden first page changes.
ActionResult accept_pool(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(auto opened, open_record(context, request.name));
    auto& [pool, place, record] = opened;
    RPMEM_TRY(pool.restore_first_page());
    json report{{"name", request.name}, {"accepted", record && has_marks(*record)}};
    if (!record || !has_marks(*record)) {
        report.update(marks_of(PoolRecord{.closed = true}));
        report.update(claim_members(record.value_or(PoolRecord{})));
        return report;
    }
    RPMEM_ASSIGN(const json members, store_accepted(place, std::move(*record)));
    report.update(members);
    RPMEM_TRY(pool.close());
    return report;
}

ActionResult take_pool(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(const auto facts, examine_pool(context.pool_options, request.name));
    const StateDirectory* const state = context.state ? &*context.state : nullptr;
    RPMEM_ASSIGN(const auto before, find_record(facts, state));
    if (before)
        RPMEM_TRY(check_losses(request, *before)); // before any session is ended
    RPMEM_ASSIGN(json ended, end_sessions(context, request));
    RPMEM_ASSIGN(auto opened, open_when_free(context, request.name).and_then([&](Pool found) {
        return read_record(context, std::move(found));
    }));
    auto& [pool, place, record] = opened;
    json report{{"name", request.name},
                {"pool_set", (context.pool_options.poolset_dir / request.name).native()},
                {"evicted", std::move(ended)}};
    if (record)
        RPMEM_TRY(check_losses(request, *record)); // it may have changed until the pool was locked
    RPMEM_TRY(pool.restore_first_page());
    if (record) {
        record->headers = {}; // they are about to change
        RPMEM_ASSIGN(const json members, store_accepted(place, std::move(*record)));
        report.update(members);
    } else { // only clients of protocol 0.1 have written to it, and they cannot resume a session
        report.update(marks_of(PoolRecord{.closed = true}));
        report.update(claim_members(PoolRecord{}));
    }
    RPMEM_ASSIGN(const bool changed, separate(pool));
    RPMEM_TRY(pool.close());
    report["headers_changed"] = changed;
    return report;
}

} // namespace rpmem::target
