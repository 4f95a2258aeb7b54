// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/remote.hpp"

#include "common/base/host_address.hpp"
#include "common/base/log.hpp"
#include "librpmem/session/command_end.hpp"
#include "librpmem/session/ssh_destination.hpp"
#include "librpmem/session/start_channel.hpp"
#include "tools/ctl/answer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <span>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

// Maximum bytes of the output of a command. A document is shorter.
constexpr std::size_t largest_output = std::size_t{4} << 20;

// Returns whether TEXT is a whole document of rpmemd. Only its last line is a single brace, so the
// text is parsed only once.
bool is_document(const std::string& text) { return text.ends_with("\n}\n") && json::accept(text); }

// Finds out whether --probe failed because the daemon does not support it. Such a daemon prints a
// version, and its help does not name the option. PROBLEM is the reason of any other failure.
RemoteAnswer ask_old_daemon(const initiator::Target& target, const std::string& command,
                            const initiator::Settings& settings, std::string problem) {
    RemoteAnswer none{RemoteAnswer::Kind::none, nullptr, {}, std::move(problem)};
    const auto version = run_remote(target, command + " --version", settings);
    // 1.12.1 prints its version to standard error.
    std::string text = version ? version->text + version->error_text : "";
    text = printable(text.substr(0, text.find('\n')));
    if (!version || version->status.code != 0 || text.find("rpmemd") == std::string::npos)
        return none;
    const auto help = run_remote(target, command + " --help", settings);
    if (!help || (help->text + help->error_text).find("--probe") != std::string::npos)
        return none;
    return {RemoteAnswer::Kind::too_old, nullptr, text,
            text + " does not support --probe, so the state of the target is not known"};
}

} // namespace

Result<RemoteOutput> run_remote(const initiator::Target& target, const std::string& command,
                                const initiator::Settings& settings,
                                std::chrono::milliseconds action_timeout,
                                const std::string& input) {
    const std::chrono::milliseconds time = settings.connect_timeout + action_timeout;
    const Deadline deadline(time);
    const auto numbers = resolve(target.host, time_for_names(settings.connect_timeout));
    const auto first = parse_address(numbers ? numbers->front() : "");
    const bool ipv4 = first && first->family == HostAddress::Family::ipv4;
    RPMEM_ASSIGN(auto channel, start_channel(target, command, ipv4, settings, deadline));
    RemoteOutput output;
    // A command that ends without reading its input reports why.
    static_cast<void>(channel->send(std::as_bytes(std::span(input)), deadline));
    bool is_answered = false;
    while (!is_answered && output.text.size() < largest_output) {
        const auto got = channel->receive_some(deadline);
        if (!got || deadline.passed())
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "{} did not answer within {} ms (RPMEM_CONNECT_TIMEOUT{})", target.host,
                        time.count(),
                        action_timeout.count() > 0
                            ? fmt::format(", and {} ms for the action", action_timeout.count())
                            : "");
        if (got->empty())
            break;
        output.text += *got;
        is_answered = is_document(output.text);
    }
    const auto status = channel->finish(is_answered ? Deadline(initiator::end_time) : deadline);
    if (!status && !is_answered)
        return Failure(status.error());
    // If the status is unknown, the document states whether the command failed.
    output.status = status.value_or(ExitStatus{0, 0, true});
    output.error_text = channel->error_text();
    return output;
}

std::string explain(const initiator::RemoteCommand& command, const RemoteOutput& output) {
    const bool succeeded = output.status.code == 0 && output.status.signal == 0;
    // Other output precedes the document, such as that of a login script.
    if (succeeded && !output.text.empty())
        return printable(initiator::describe_unexpected_output(
            command, std::string_view(output.text).substr(0, output.text.find('{', 1))));
    return printable(initiator::describe_end(command, output.status, "",
                                             {!output.text.empty(), output.error_text}));
}

RemoteAnswer ask_target(const initiator::Target& target, const initiator::Settings& settings) {
    const std::string& command = settings.commands.front();
    const auto output = run_remote(target, command + " --probe", settings);
    if (!output)
        return {RemoteAnswer::Kind::none, nullptr, {}, printable(output.error().text)};
    if (output->status.code == 0 && output->status.signal == 0) {
        auto report = std::make_shared<const json>(parse_answer(output->text));
        if (report->is_object() && report->contains("providers"))
            return {RemoteAnswer::Kind::report, std::move(report), {}, {}};
    }
    const initiator::RemoteCommand shown = remote_command(target, command + " --probe", settings);
    const std::string problem = explain(shown, *output);
    if (initiator::was_not_found(output->status))
        return {RemoteAnswer::Kind::none, nullptr, {}, problem};
    return ask_old_daemon(target, command, settings, problem);
}

std::string lane_host(const initiator::Target& target, const initiator::Settings& settings) {
    const Deadline deadline(settings.connect_timeout);
    const auto number_of = [&](const std::string& name) {
        const auto numbers = resolve(name, time_for_names(deadline.left()));
        return numbers ? numbers->front() : name;
    };
    if (!settings.address.empty())
        return number_of(settings.address);
    std::string host = number_of(target.host);
    if (settings.ssh_transport != initiator::SshTransport::process || parse_address(host))
        return host;
    const auto destination = ask_ssh(settings.ssh, target, false, deadline.left());
    return destination && !destination->is_proxied ? number_of(destination->host) : host;
}

} // namespace rpmem::ctl
