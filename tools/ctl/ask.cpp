// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/ask.hpp"

#include "common/base/shell_word.hpp"
#include "librpmem/session/command_end.hpp"
#include "tools/ctl/answer.hpp"
#include "tools/ctl/command.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/remote.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

// Words in the error texts of daemons that do not know an option, with or without a restricted key.
constexpr std::array<std::string_view, 4> words_of_old_daemons = {
    "was not expected", "were not expected", "unrecognized option", "may follow rpmemd"};

bool is_too_old(const RemoteOutput& output) {
    for (const std::string_view words : words_of_old_daemons)
        if (output.error_text.find(words) != std::string::npos)
            return true;
    return false;
}

ActionAnswer without_document(const initiator::Target& target, const std::string& command,
                              const RemoteOutput& output, const initiator::Settings& settings) {
    const auto shown = initiator::remote_command(target, command, settings);
    const bool refused = output.error_text.find("is refused") != std::string::npos ||
                         output.error_text.find("may not use") != std::string::npos;
    ActionAnswer answer = failed_answer(refused ? EACCES : EPROTO, explain(shown, output));
    if (is_too_old(output))
        answer.status = status_unknown;
    return answer;
}

} // namespace

ActionAnswer failed_answer(int code, const std::string& text) {
    const char* const name = ::strerrorname_np(code);
    return {json{{"format", 1},
                 {"error", {{"code", code}, {"name", name ? name : ""}, {"text", text}}}},
            code == EBUSY ? status_in_use : status_failed};
}

ActionAnswer ask_action(const initiator::Target& target, const std::vector<std::string>& words,
                        const initiator::Settings& settings,
                        std::chrono::milliseconds action_timeout, const std::string& input) {
    std::string command = settings.commands.front();
    for (const std::string& word : words)
        command += " " + shell_word(word);
    const auto output = run_remote(target, command, settings, action_timeout, input);
    if (!output)
        return failed_answer(output.error().code, output.error().text);
    ActionAnswer answer{parse_answer(output->text), status_done};
    if (!answer.document.is_object() || !answer.document.contains("format"))
        return without_document(target, command, *output, settings);
    const json& error = member(answer.document, "error");
    if (error.is_object())
        answer.status =
            number_of(error, "code") == std::uint64_t{EBUSY} ? status_in_use : status_failed;
    else if (output->status.code != 0 || output->status.signal != 0)
        return without_document(target, command, *output, settings);
    return answer;
}

} // namespace rpmem::ctl
