// SPDX-License-Identifier: BSD-3-Clause
// probe: reports on this node and on a target.
#include "common/base/version.hpp"
#include "common/probe/node.hpp"
#include "tools/ctl/remote.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/verbs.hpp"
#include "tools/ctl/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace rpmem::ctl {
namespace {

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

json json_of(const Verdict& verdict) {
    using Answer = Verdict::Answer;
    json answer = nullptr; // unknown
    if (verdict.answer != Answer::unknown)
        answer = verdict.answer == Answer::possible;
    return {{"possible", answer},         {"provider", verdict.provider},
            {"tls", verdict.tls},         {"problems", verdict.problems},
            {"why_not", verdict.why_not}, {"notes", verdict.notes}};
}

int status_of(const Verdict& verdict) {
    switch (verdict.answer) {
    case Verdict::Answer::possible:
        return status_done;
    case Verdict::Answer::unknown:
        return status_unknown;
    case Verdict::Answer::impossible:
        break;
    }
    return status_failed;
}

void print_json(const json& node, const std::string& target, const RemoteAnswer& answer,
                const Verdict& verdict) {
    json all = {{"format", probe::report_format}, {"node", node}, {"verdict", json_of(verdict)}};
    if (!target.empty())
        all["target"] = {{"name", target},
                         {"report", answer.report ? *answer.report : json(nullptr)},
                         {"version", answer.version},
                         {"problem", answer.problem}};
    fmt::print("{}\n", all.dump(2, ' ', true, json::error_handler_t::replace));
}

void print_text(const json& node, const std::string& target, const RemoteAnswer& answer,
                const Verdict& verdict) {
    fmt::print("{}", describe_node("This node", node));
    if (answer.report)
        fmt::print("\n{}", describe_node("Target " + target, *answer.report));
    fmt::print("\n{}", describe(verdict, target));
}

} // namespace

int probe_nodes(const Command& command, const initiator::Settings& settings,
                const initiator::Target* target) {
    const json node = own_report(settings, target);
    RemoteAnswer answer;
    if (target)
        answer = ask_target(*target, settings);
    const Verdict verdict = target ? judge(node, answer) : judge(node);
    (command.json ? print_json : print_text)(node, command.target, answer, verdict);
    return status_of(verdict);
}

json own_report(const initiator::Settings& settings, const initiator::Target* target) {
    json node = probe::examine_node({"rpmemctl " + std::string(product_version()),
                                     {"RPMEM_DEVICE", settings.device},
                                     target ? lane_host(*target, settings) : "",
                                     ""},
                                    providers_of(settings));
    node["tls"] = name_of(settings.tls);
    return node;
}

} // namespace rpmem::ctl
