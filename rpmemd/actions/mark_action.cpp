// SPDX-License-Identifier: BSD-3-Clause
// The action mark-equal clears the marks that a pool may be behind, and that it is catching up.
// rpmemctl requests it after it has compared the pool with its source and has copied the
// differences. The claim in the request shows whether a session has opened the pool for writing
// since then. The epoch of an accept stays in the record, unless the request says otherwise. It
// bars the former program from writing to the pool, also after the pool was made equal to another
// source.
#include "rpmemd/actions/opened_record.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>

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

// The lock keeps writers out. Only a hidden first page changes.
ActionResult mark_equal(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(auto opened, open_record(context, request.name));
    auto& [pool, place, record] = opened;
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
    // The change of another program is in what was compared.
    if (record->modified != 0)
        record->modified = pool.modified_before().count();
    const bool forgets = request.forget_accepted && record->accepted_epoch != 0;
    if (forgets)
        record->accepted_epoch = 0;
    RPMEM_TRY(pool.show_first_page());
    if (was_behind || was_catching_up || forgets)
        RPMEM_TRY(place.write(*record));
    json report{
        {"name", request.name}, {"was_behind", was_behind}, {"was_catching_up", was_catching_up}};
    report.update(claim_members(*record));
    RPMEM_TRY(pool.close());
    return report;
}

} // namespace rpmem::target
