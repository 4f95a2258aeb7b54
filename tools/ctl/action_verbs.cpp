// SPDX-License-Identifier: BSD-3-Clause
// Verbs that are one action of the target.
#include "tools/ctl/action_text.hpp"
#include "tools/ctl/help.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>

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
    std::chrono::milliseconds patience;
    std::string (*describe)(const json& document);
};
constexpr std::array action_verbs = {
    ActionVerb{Verb::list, "--list", {}, describe_list},
    ActionVerb{Verb::info, "--info", {}, describe_info},
    ActionVerb{Verb::check, "--check", time_to_check, describe_check},
    ActionVerb{Verb::sessions, "--sessions", {}, describe_sessions},
    ActionVerb{Verb::evict, "--evict", time_to_evict, describe_evicted},
    ActionVerb{Verb::create, "--create-set", work_timeout, describe_created},
};

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
    for (const ActionVerb& verb : action_verbs) {
        if (verb.verb != context.command.verb)
            continue;
        ActionAnswer answer = ask_action(context.target, words_of(verb, context.command),
                                         context.settings, verb.patience);
        if (answer.status == status_done && verb.verb == Verb::check &&
            (!flag_of(answer.document, "sound") ||
             number_of(answer.document, "behind_since").has_value()))
            answer.status = status_differs;
        return print_answer(context.command, answer, verb.describe);
    }
    return status_usage; // there is one for each
}

} // namespace rpmem::ctl
