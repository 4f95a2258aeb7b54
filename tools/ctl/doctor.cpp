// SPDX-License-Identifier: BSD-3-Clause
// doctor: tries every step that makes a byte durable on the target. A step that fails reports what
// to change.
#include "tools/ctl/reading.hpp"
#include "tools/ctl/remote.hpp"
#include "tools/ctl/temporary_set.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/transfer.hpp"
#include "tools/ctl/verbs.hpp"
#include "tools/ctl/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t trial_pool_size = std::uint64_t{8} << 20;
constexpr std::uint64_t begin = 4096;    // after the header
constexpr std::uint64_t small = 4096;    // bytes of a persist, to measure the latency
constexpr std::uint64_t large = 1 << 20; // bytes of a persist, to measure the throughput
constexpr std::chrono::milliseconds measured(100);

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void note(json& document, const char* step, bool good, const std::string& text) {
    document["steps"].push_back({{"name", step}, {"good", good}, {"text", text}});
    document["healthy"] = document["healthy"].get<bool>() && good;
}

// Returns the mean time of a persist of SIZE bytes, in seconds.
Result<double> time_of_persist(const PoolSession& session, std::uint64_t size) {
    const auto start = Clock::now();
    unsigned calls = 0;
    while (Clock::now() - start < measured) {
        RPMEM_TRY(session.push({begin, begin + size}, 0));
        ++calls;
    }
    return seconds_since(start) / calls;
}

Result<> measure(const PoolSession& session, json& document) {
    RPMEM_ASSIGN(const double small_time, time_of_persist(session, small));
    RPMEM_ASSIGN(const double large_time, time_of_persist(session, large));
    const double rate = static_cast<double>(large) / large_time;
    document["persist_seconds"] = small_time;
    document["bytes_per_second"] = static_cast<std::uint64_t>(rate);
    note(document, "benchmark", true,
         fmt::format("a persist of 4 KiB takes {:.0f} us, those of 1 MiB move {}/s",
                     small_time * 1e6, size_text(static_cast<std::uint64_t>(rate))));
    return {};
}

// Adds advice on firewalls. A firewall that blocks a lane shows when the pool is opened, or at the
// first use of the lane. So both steps call this.
std::string with_advice(const Error& error) {
    const bool is_blocked = error.code == ETIMEDOUT || error.code == ECONNREFUSED ||
                            error.code == EHOSTUNREACH || error.code == ENETUNREACH;
    return is_blocked && error.text.find("firewall") == std::string::npos
               ? error.text + "; if there is a firewall, open the ports of port-range in the "
                              "target's rpmemd.conf"
               : error.text;
}

// Stops after the first step that fails.
void try_pool(const Context& context, const std::string& pool_set, json& document) {
    auto start = Clock::now();
    auto session = PoolSession::open(context.command.target, pool_set, trial_pool_size, 1);
    if (!session)
        return note(document, "session", false, with_advice(session.error()));
    note(document, "session", true,
         fmt::format("opened within {:.0f} ms", seconds_since(start) * 1e3));
    start = Clock::now();
    if (const auto pushed = session->push({begin, begin + small}, 0); !pushed)
        return note(document, "lane", false, with_advice(pushed.error()));
    note(document, "lane", true,
         fmt::format("connected, and the first bytes are durable, within {:.1f} ms",
                     seconds_since(start) * 1e3));
    if (const auto done = measure(*session, document); !done)
        return note(document, "benchmark", false, done.error().text);
    if (const auto closed = session->close(); !closed)
        note(document, "end", false, closed.error().text);
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : "; ") + text;
    return all;
}

void note_probe(json& document, const Verdict& verdict) {
    document["notes"] = verdict.notes;
    for (const std::string& why : verdict.why_not)
        document["notes"].push_back("not over " + why);
    const bool possible = verdict.answer == Verdict::Answer::possible;
    note(document, "probe", possible,
         possible ? fmt::format("a pool would use {}{}", verdict.provider,
                                verdict.tls ? " with TLS" : "")
                  : joined(verdict.problems));
}

std::string describe_steps(const json& document) {
    std::string text;
    for (const json& step : member(document, "steps"))
        text += fmt::format("  {:<10} {} {}\n", text_of(step, "name"),
                            flag_of(step, "good") ? "ok    " : "FAILED", text_of(step, "text"));
    for (const json& each : member(document, "notes"))
        if (each.is_string())
            text += "  note: " + printable(each.get<std::string>()) + "\n";
    return text + (flag_of(document, "healthy") ? "healthy\n" : "NOT healthy\n");
}

} // namespace

int examine_target(const Context& context) {
    json document = {{"format", 1}, {"healthy", true}, {"steps", json::array()}};
    const json node = own_report(context.settings, &context.target);
    const RemoteAnswer probed = ask_target(context.target, context.settings);
    note_probe(document, judge(node, probed));
    if (document["healthy"].get<bool>()) {
        const TemporarySet set(context, trial_pool_size, false);
        const bool made = set.answer().status == status_done;
        note(document, "pool", made,
             made ? "created on the target"
                  : text_of(member(set.answer().document, "error"), "text"));
        if (made)
            try_pool(context, set.name(), document);
    }
    const int status = document["healthy"].get<bool>()              ? status_done
                       : probed.kind == RemoteAnswer::Kind::too_old ? status_unknown
                                                                    : status_failed;
    return print_answer(context.command, {std::move(document), status}, describe_steps);
}

} // namespace rpmem::ctl
