// SPDX-License-Identifier: BSD-3-Clause
// accept and take: an operator decides that the copy of a target is the right one. Asks first,
// unless --yes is given.
#include "tools/ctl/action_text.hpp"
#include "tools/ctl/confirm.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Verb = Command::Verb;

// The target may have to open a pool with many parts, and to wait for the end of sessions.
constexpr std::chrono::minutes accept_timeout(5);

std::string question_of(const Command& command, const json& info) {
    const std::string losses = losses_text(info);
    const std::string what = losses.empty() ? "is" : "may be old: " + losses + ". It is";
    return fmt::format("{} {} declared the right copy, and its former program cannot write to it "
                       "any more. Go on?",
                       command.pool_set, what);
}

} // namespace

int accept_or_take(const Context& context) {
    const Command& command = context.command;
    const bool takes = command.verb == Verb::take;
    const auto describe = takes ? describe_taken : describe_accepted;
    if (!command.yes) {
        const ActionAnswer info =
            ask_action(context.target, {"--info", command.pool_set}, context.settings, {});
        if (info.status != status_done)
            return print_answer(command, info, describe);
        if (!confirm(question_of(command, info.document)))
            return print_answer(command,
                                failed_answer(ECANCELED, "nothing was changed; --yes answers the "
                                                         "question in advance"),
                                describe);
    }
    std::vector<std::string> words{takes ? "--take" : "--accept", command.pool_set};
    if (command.accept_loss)
        words.emplace_back("--accept-loss");
    return print_answer(
        command, ask_action(context.target, words, context.settings, accept_timeout), describe);
}

} // namespace rpmem::ctl
