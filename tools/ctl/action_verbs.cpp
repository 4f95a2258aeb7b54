// SPDX-License-Identifier: BSD-3-Clause
// The verbs that run a single action of rpmemd on the target.
#include "tools/ctl/action_text.hpp"
#include "tools/ctl/help.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Verb = Command::Verb;

// Timeout of evict, which ends the daemon of the session and those that its client starts instead.
constexpr std::chrono::seconds time_to_evict(30);
// Timeout of check, which opens a pool and does not read its data. But kernels before 6.5 take long
// to search a large sparse pool for cached pages.
constexpr std::chrono::minutes time_to_check(5);

struct ActionVerb {
    Verb verb;
    const char* option; // the option of rpmemd
    std::chrono::milliseconds action_timeout;
    std::string (*describe)(const json& document);
};
constexpr ActionVerb check_all = {Verb::check, "--check-all", work_timeout, describe_checks};
constexpr std::array action_verbs = {
    ActionVerb{Verb::list, "--list", {}, describe_list},
    ActionVerb{Verb::info, "--info", {}, describe_info},
    ActionVerb{Verb::check, "--check", time_to_check, describe_check},
    ActionVerb{Verb::sessions, "--sessions", {}, describe_sessions},
    ActionVerb{Verb::evict, "--evict", time_to_evict, describe_evicted},
    ActionVerb{Verb::create, "--create-set", work_timeout, describe_created},
};

// The pool in the worst state decides. A pool that the daemon did not check might be in a worse
// one.
int status_of_checks(const json& document) {
    bool is_in_use = false;
    for (const json& pool : member(document, "pools")) {
        const std::string state = text_of(pool, "state");
        if (state != "sound" && state != "in use")
            return status_differs;
        is_in_use = is_in_use || state == "in use";
    }
    if (!flag_of(document, "complete"))
        return status_failed;
    return is_in_use ? status_in_use : status_done;
}

int status_of_check(const json& document) {
    const bool is_equal =
        !number_of(document, "behind_since") && !number_of(document, "catching_up_since");
    return flag_of(document, "sound") && is_equal ? status_done : status_differs;
}

// Returns the arguments of rpmemd, in the order that forced commands require.
std::vector<std::string> words_of(const ActionVerb& verb, const Command& command) {
    std::vector<std::string> words = {verb.option};
    if (verb.verb == Verb::evict)
        words.push_back(command.session);
    else if (!command.pool_set.empty())
        words.push_back(command.pool_set);
    if (verb.verb != Verb::create)
        return words;
    words.insert(words.end(), {"--size", std::to_string(command.size)});
    if (command.no_headers)
        words.emplace_back("--no-headers");
    if (command.set_only)
        words.emplace_back("--set-only");
    for (const std::string& part : command.parts)
        words.insert(words.end(), {"--part", part});
    return words;
}

} // namespace

int print_answer(const Command& command, const ActionAnswer& answer,
                 std::string (*describe)(const json& document)) {
    const json& error = member(answer.document, "error");
    if (command.json) {
        json document = answer.document;
        document["action"] = help_of(command.verb).name;
        if (!command.target.empty())
            document["target"] = command.target;
        fmt::print("{}\n", document.dump(2, ' ', true, json::error_handler_t::replace));
    } else if (!error.is_object()) {
        fmt::print("{}", describe(answer.document));
    }
    if (error.is_object())
        fmt::print(stderr, "rpmemctl: {}\n", text_of(error, "text"));
    return answer.status;
}

int run_action_verb(const Context& context) {
    const Command& command = context.command;
    const ActionVerb* const verb = command.verb == Verb::check && command.all
                                       ? &check_all
                                       : std::ranges::find(action_verbs, command.verb,
                                                           &ActionVerb::verb); // there is one
    ActionAnswer answer = ask_action(context.target, words_of(*verb, command), context.settings,
                                     verb->action_timeout);
    if (answer.status == status_done && verb->verb == Verb::check)
        answer.status =
            command.all ? status_of_checks(answer.document) : status_of_check(answer.document);
    return print_answer(command, answer, verb->describe);
}

} // namespace rpmem::ctl
