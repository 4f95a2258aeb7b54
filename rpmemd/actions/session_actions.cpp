// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/registry/evict.hpp"

#include <nlohmann/json.hpp>

namespace rpmem::target {
namespace {

using nlohmann::json;

Failure no_state(const ActionContext& context) {
    return fail(ErrorClass::caller_fault, EACCES,
                "the sessions are unknown, because state-dir cannot be used: {}",
                context.state_problem);
}

} // namespace

ActionResult list_sessions(ActionContext& context, const ActionRequest& /*request*/) {
    if (!context.state)
        return no_state(context);
    return json{{"sessions", json_of(context.sessions)}};
}

ActionResult evict_session(ActionContext& context, const ActionRequest& request) {
    if (!context.state)
        return no_state(context);
    RPMEM_ASSIGN(const auto evicted,
                 evict(*context.state, request.name, context.pool_options.part_mode, context.log));
    return json{{"evicted", json_of(evicted)}};
}

} // namespace rpmem::target
