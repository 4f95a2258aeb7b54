// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/verdict.hpp"

#include "tools/ctl/reading.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Answer = Verdict::Answer;

// The providers in the order in which the library tries them.
constexpr std::array providers = {"verbs", "tcp", "sockets"};

const json& provider_of(const json& report, const char* name) {
    return named(member(report, "providers"), name);
}

void add(std::vector<std::string>& texts, const std::string& text) {
    if (!text.empty())
        texts.push_back(text);
}

void note_limits(Verdict& verdict, const json& report, const char* where) {
    const json& lock = member(member(report, "limits"), "memlock");
    const auto hard = number_of(lock, "hard");
    if (verdict.provider == "verbs" && hard && !flag_of(lock, "exempt"))
        verdict.notes.push_back(
            fmt::format("{}: over verbs a pool may have {} KiB at most, the hard limit of locked "
                        "memory for {}; raise it in limits.conf(5) (memlock)",
                        where, *hard / 1024, text_of(lock, "user")));
}

// Finds out whether lanes would use TLS. Adds a problem if one end requires TLS and the other does
// not use it. Reports of older versions do not mention TLS, so they count as off.
void choose_tls(Verdict& verdict, const std::string& here, const std::string& there) {
    const bool has_here = here == "on" || here == "require";
    const bool has_there = there == "on" || there == "require";
    verdict.tls = has_here && has_there;
    if (here == "require" && !has_there)
        verdict.problems.emplace_back(
            "RPMEM_TLS=require, and the target has no TLS (\"tls = on\" in its rpmemd.conf)");
    if (there == "require" && !has_here)
        verdict.problems.emplace_back(
            "the target requires TLS (\"tls = require\" in its rpmemd.conf): set RPMEM_TLS=on");
}

// Chooses the provider like the library: the first one that this node can use and the target
// offers.
void choose(Verdict& verdict, const json& node, const json& report) {
    const std::string tls_here = text_of(node, "tls");
    const std::string tls_there = text_of(member(report, "daemon"), "tls");
    const bool only_tls = tls_here == "require" || tls_there == "require";
    for (const char* name : providers) {
        if (only_tls && std::string_view(name) != "tcp") {
            add(verdict.why_not, fmt::format("{}: TLS is required, which only tcp has", name));
            continue;
        }
        const json& here = provider_of(node, name);
        const json& there = provider_of(report, name);
        if (flag_of(here, "usable") && flag_of(there, "offered")) {
            verdict.provider = name;
            if (verdict.provider == "tcp")
                choose_tls(verdict, tls_here, tls_there);
            break;
        }
        add(verdict.why_not,
            fmt::format("{}: {}", name,
                        flag_of(here, "usable")
                            ? "the target does not offer it: " + text_of(there, "why_not")
                            : text_of(here, "why_not")));
    }
    if (verdict.provider.empty()) {
        verdict.problems.emplace_back("no provider is common to both ends");
        return;
    }
    const json& there = provider_of(report, verdict.provider.c_str());
    if (!flag_of(there, "usable"))
        verdict.problems.push_back(fmt::format("the target offers {}, and cannot use it: {}",
                                               verdict.provider, text_of(there, "why_not")));
}

} // namespace

Verdict judge(const json& node) {
    Verdict verdict;
    for (const char* name : providers) {
        const json& here = provider_of(node, name);
        if (flag_of(here, "usable")) {
            verdict.provider = name;
            verdict.answer = Answer::possible;
            note_limits(verdict, node, "this node");
            return verdict;
        }
        verdict.why_not.push_back(fmt::format("{}: {}", name, text_of(here, "why_not")));
    }
    verdict.problems.emplace_back("no provider can be used");
    return verdict;
}

Verdict judge(const json& node, const RemoteAnswer& target) {
    if (target.kind != RemoteAnswer::Kind::report) {
        Verdict verdict = judge(node);
        const bool has_provider = verdict.answer == Answer::possible;
        verdict.answer = target.kind == RemoteAnswer::Kind::too_old && has_provider
                             ? Answer::unknown
                             : Answer::impossible;
        verdict.provider.clear();
        verdict.notes.clear();
        verdict.problems.push_back(target.problem);
        return verdict;
    }
    Verdict verdict;
    const json& report = *target.report;
    choose(verdict, node, report);
    add(verdict.problems, text_of(member(report, "daemon"), "problem"));
    add(verdict.problems, text_of(member(report, "daemon"), "poolset_dir_problem"));
    verdict.answer = verdict.problems.empty() ? Answer::possible : Answer::impossible;
    note_limits(verdict, node, "this node");
    note_limits(verdict, report, "target");
    return verdict;
}

} // namespace rpmem::ctl
