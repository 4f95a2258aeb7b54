// SPDX-License-Identifier: BSD-3-Clause
// rpmemctl: see rpmemctl(1).
#include "common/base/version.hpp"
#include "common/probe/node.hpp"
#include "tools/ctl/options.hpp"
#include "tools/ctl/remote.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

namespace {

using namespace rpmem;
using nlohmann::json;

std::vector<probe::ProviderSetting> providers_of(const initiator::Settings& settings) {
    using wire::Provider;
    return {
        {Provider::verbs, settings.enable_verbs, "switched off (RPMEM_ENABLE_VERBS=0)"},
        {Provider::tcp, settings.enable_tcp, "switched off (RPMEM_ENABLE_TCP=0)"},
        {Provider::sockets, settings.enable_sockets,
         "not switched on (RPMEM_ENABLE_SOCKETS=1 does)"},
    };
}

json json_of(const ctl::Verdict& verdict) {
    using Answer = ctl::Verdict::Answer;
    json answer = nullptr; // not known
    if (verdict.answer != Answer::unknown)
        answer = verdict.answer == Answer::possible;
    return {{"possible", answer},         {"provider", verdict.provider},
            {"tls", verdict.tls},         {"problems", verdict.problems},
            {"why_not", verdict.why_not}, {"notes", verdict.notes}};
}

int status_of(const ctl::Verdict& verdict) {
    switch (verdict.answer) {
    case ctl::Verdict::Answer::possible:
        return ctl::status_possible;
    case ctl::Verdict::Answer::unknown:
        return ctl::status_unknown;
    case ctl::Verdict::Answer::impossible:
        break;
    }
    return ctl::status_impossible;
}

void print_json(const json& node, const std::string& target, const ctl::RemoteAnswer& answer,
                const ctl::Verdict& verdict) {
    json all = {{"format", probe::report_format}, {"node", node}, {"verdict", json_of(verdict)}};
    if (!target.empty())
        all["target"] = {{"name", target},
                         {"report", answer.report ? *answer.report : json(nullptr)},
                         {"version", answer.version},
                         {"problem", answer.problem}};
    fmt::print("{}\n", all.dump(2, ' ', false, json::error_handler_t::replace));
}

void print_text(const json& node, const std::string& target, const ctl::RemoteAnswer& answer,
                const ctl::Verdict& verdict) {
    fmt::print("{}", ctl::describe_node("This node", node));
    if (answer.report)
        fmt::print("\n{}", ctl::describe_node("Target " + target, *answer.report));
    fmt::print("\n{}", ctl::describe(verdict, target));
}

int probe_nodes(const ctl::ProbeCommand& command) {
    const initiator::Settings settings = initiator::read_settings(std::getenv);
    for (const std::string& warning : settings.warnings)
        fmt::print(stderr, "rpmemctl: {}\n", warning);
    std::optional<initiator::Target> target;
    if (!command.target.empty()) {
        auto parsed = initiator::parse_target(command.target);
        if (!parsed) {
            fmt::print(stderr, "rpmemctl: {}\n", parsed.error().text);
            return ctl::status_usage;
        }
        target = std::move(*parsed);
    }
    json node = probe::examine_node({"rpmemctl " + std::string(product_version()),
                                     {"RPMEM_DEVICE", settings.device},
                                     target ? ctl::lane_host(*target, settings) : "",
                                     ""},
                                    providers_of(settings));
    node["tls"] = name_of(settings.tls);
    ctl::RemoteAnswer answer;
    if (target)
        answer = ctl::ask_target(*target, settings);
    const ctl::Verdict verdict = target ? ctl::judge(node, answer) : ctl::judge(node);
    (command.json ? print_json : print_text)(node, command.target, answer, verdict);
    return status_of(verdict);
}

int run(int argc, char* argv[]) {
    const ctl::CommandLine parsed = ctl::parse_command_line(argc, argv);
    if (const auto* exit = std::get_if<ctl::Exit>(&parsed)) {
        fmt::print(exit->status == 0 ? stdout : stderr, "{}", exit->text);
        return exit->status;
    }
    if (const auto* command = std::get_if<ctl::ProbeCommand>(&parsed))
        return probe_nodes(*command);
    fmt::print("{}", ctl::describe_settings());
    return 0;
}

} // namespace

int main(int argc, char* argv[]) {
    static_cast<void>(::signal(SIGPIPE, SIG_IGN)); // fails only for a signal that does not exist
    try {
        return run(argc, argv);
    } catch (const std::exception& exception) {
        fmt::print(stderr, "rpmemctl: {}\n", exception.what());
        return ctl::status_impossible;
    }
}
