// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/actions/run_action.hpp"

#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/pool_options.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstring>

namespace rpmem::target {
namespace {

using nlohmann::json;
using Verb = ActionRequest::Verb;

struct Row {
    Verb verb;
    ActionResult (*run)(ActionContext& context, const ActionRequest& request);
};
constexpr std::array rows = {
    Row{Verb::list, list_pool_sets},    Row{Verb::info, pool_info},
    Row{Verb::check, check_pool},       Row{Verb::check_all, check_all_pools},
    Row{Verb::sessions, list_sessions}, Row{Verb::evict, evict_session},
    Row{Verb::digest, digest_pool},     Row{Verb::create, create_set},
    Row{Verb::mark_equal, mark_equal},  Row{Verb::accept, accept_pool},
    Row{Verb::take, take_pool},
};

ActionContext context_of(const Configuration& configuration, const Log& log) {
    ActionContext context{.pool_options = pool_options_of(configuration),
                          .state_dir = configuration.state_dir,
                          .state = std::nullopt,
                          .state_problem = {},
                          .sessions = {},
                          .shows_sessions = configuration.sees_sessions,
                          .log = log};
    auto state = StateDirectory::open(configuration.state_dir);
    if (!state) {
        context.state_problem = state.error().text;
        return context;
    }
    context.state = std::move(*state);
    context.pool_options.header_copies = context.state->fd();
    context.sessions = live_sessions(*context.state, log);
    return context;
}

json error_json(const Error& error) {
    const char* const name = ::strerrorname_np(error.code);
    return {{"code", error.code}, {"name", name ? name : ""}, {"text", printable(error.text)}};
}

ActionResult run(ActionContext& context, const ActionRequest& request) {
    for (const Row& row : rows)
        if (row.verb == request.verb)
            return row.run(context, request);
    return fail(ErrorClass::bug, ENOSYS, "an action without a function");
}

} // namespace

std::vector<LiveSession> sessions_of(const ActionContext& context, const std::string& name) {
    std::vector<LiveSession> found;
    const auto key = key_of(context.pool_options.poolset_dir / name);
    if (key)
        for (const LiveSession& session : context.sessions)
            if (session.record.pool_set_key == *key)
                found.push_back(session);
    return found;
}

json shown(const ActionContext& context, const std::vector<LiveSession>& sessions) {
    return context.shows_sessions ? json_of(sessions) : json::array();
}

Failure with_holder(const ActionContext& context, const std::string& name, Error error) {
    if (error.code == EAGAIN)
        error.code = EBUSY;
    if (error.code == EBUSY && context.shows_sessions)
        for (const LiveSession& session : sessions_of(context, name))
            error.text += fmt::format("; session {} of {} has it, since {}", session.id,
                                      describe(session.record.initiator),
                                      describe_time(session.record.since));
    return Failure(std::move(error));
}

ActionOutcome run_action(const Configuration& configuration, Log& log) {
    const ActionRequest& request = *configuration.action;
    ActionContext context = context_of(configuration, log);
    json document = {{"format", document_format},
                     {"action", std::string(word_of(request.verb).option.substr(2))}};
    const auto members = run(context, request);
    if (members) {
        document.update(*members);
    } else {
        log.error("{}", members.error().text);
        document["error"] = error_json(members.error());
        if (members.error().code == EBUSY)
            document["sessions"] = shown(context, sessions_of(context, request.name));
    }
    return {document.dump(2, ' ', true, json::error_handler_t::replace) + "\n",
            members ? 0 : members.error().code};
}

} // namespace rpmem::target
