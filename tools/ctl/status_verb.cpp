// SPDX-License-Identifier: BSD-3-Clause
// status and watch: print the counters of the pools of running programs.
#include "common/base/log.hpp"
#include "common/base/time_text.hpp"
#include "tools/ctl/running_pools.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

namespace rpmem::ctl {
namespace {

using initiator::CallKind;
using initiator::CallSummary;
using initiator::LinkState;
using initiator::PoolSnapshot;
using nlohmann::json;

constexpr std::chrono::seconds between_views(1);
constexpr std::uint64_t nanoseconds_of_second = 1000000000;
constexpr const char* clear_screen = "\033[H\033[J";

std::string state_of(const PoolSnapshot& pool) {
    const auto state = static_cast<std::size_t>(pool.facts.state);
    return state < initiator::link_state_names.size()
               ? std::string(initiator::link_state_names[state])
               : "unknown";
}

std::string time_text(std::uint64_t nanoseconds) {
    constexpr double micro = 1e3;
    constexpr double milli = 1e6;
    constexpr double second = 1e9;
    const auto time = static_cast<double>(nanoseconds);
    if (time >= second)
        return fmt::format("{:.2f} s", time / second);
    if (time >= milli)
        return fmt::format("{:.2f} ms", time / milli);
    return fmt::format("{:.1f} us", time / micro);
}

json json_of(const CallSummary& calls) {
    return {{"calls", calls.calls},   {"bytes", calls.bytes}, {"total_ns", calls.total},
            {"p50_ns", calls.p50},    {"p99_ns", calls.p99},  {"p999_ns", calls.p999},
            {"longest_ns", calls.max}};
}

// Why the target is not connected, or does not get in sync.
std::string reason_of(const PoolSnapshot& pool) {
    if (pool.facts.state == LinkState::connected)
        return {};
    return pool.facts.is_outpaced != 0 ? "rate below writes"
                                       : printable(initiator::text_in(pool.facts.last_loss));
}

// If the program writes nothing meanwhile. The rate must not be 0.
std::uint64_t seconds_to_go(const PoolSnapshot& pool) {
    return pool.facts.behind_bytes / pool.facts.catch_up_rate;
}

json json_of(const RunningPool& running) {
    const PoolSnapshot& pool = running.counts;
    json calls = json::object();
    for (unsigned kind = 0; kind < initiator::call_kinds; ++kind)
        calls[std::string(initiator::call_names[kind])] =
            json_of(summarize(pool, static_cast<CallKind>(kind)));
    return {{"pid", pool.process},
            {"program", running.program},
            {"pool", printable(initiator::text_in(pool.facts.name))},
            {"transport", printable(initiator::text_in(pool.facts.lanes_by))},
            {"state", state_of(pool)},
            {"state_since", pool.facts.state_since / nanoseconds_of_second},
            {"reason", reason_of(pool)},
            {"behind_bytes", pool.facts.behind_bytes},
            {"catch_up_rate", pool.facts.catch_up_rate},
            {"seconds_to_go", pool.facts.catch_up_rate > 0 ? json(seconds_to_go(pool)) : json()},
            {"last_join", pool.facts.last_join / nanoseconds_of_second},
            {"size", pool.facts.size},
            {"lanes", pool.facts.lane_count},
            {"generation", pool.facts.generation},
            {"opened", pool.facts.opened / nanoseconds_of_second},
            {"reconnects", pool.facts.reconnects},
            {"replayed_bytes", pool.facts.replayed_bytes},
            {"unconfirmed_bytes", pool.unconfirmed_bytes},
            {"waits", pool.waits},
            {"last_loss", printable(initiator::text_in(pool.facts.last_loss))},
            {"calls", std::move(calls)}};
}

std::string describe_absence(const PoolSnapshot& pool) {
    std::string text = fmt::format("  {} for {} s", state_of(pool),
                                   static_cast<std::uint64_t>(std::time(nullptr)) -
                                       pool.facts.state_since / nanoseconds_of_second);
    if (pool.facts.behind_bytes > 0)
        text += fmt::format("; the target lacks up to {}", size_text(pool.facts.behind_bytes));
    if (pool.facts.catch_up_rate > 0)
        text += fmt::format("; {}/s, {} s to go", size_text(pool.facts.catch_up_rate),
                            seconds_to_go(pool));
    if (pool.facts.is_outpaced != 0)
        text += "; " + reason_of(pool);
    return text + "\n";
}

// SECONDS is the time in which the calls were counted, or 0 for the time since the pool was opened.
std::string describe(const RunningPool& running, double seconds) {
    const PoolSnapshot& pool = running.counts;
    const auto age =
        static_cast<std::uint64_t>(std::time(nullptr)) - pool.facts.opened / nanoseconds_of_second;
    std::string text = fmt::format(
        "{} ({}): {}, {}, generation {}\n  {} lanes over {}, {}, open for {} s\n", pool.process,
        running.program, printable(initiator::text_in(pool.facts.name)), state_of(pool),
        pool.facts.generation, pool.facts.lane_count,
        printable(initiator::text_in(pool.facts.lanes_by)), size_text(pool.facts.size), age);
    if (pool.facts.state != LinkState::connected)
        text += describe_absence(pool);
    if (pool.facts.last_join > 0)
        text += fmt::format(
            "  in sync again since {}\n",
            describe_time(static_cast<std::int64_t>(pool.facts.last_join / nanoseconds_of_second)));
    text += fmt::format("  {:<14}{:>12}{:>12}{:>11}{:>11}{:>11}{:>11}\n", "call",
                        seconds > 0 ? "calls/s" : "calls", seconds > 0 ? "bytes/s" : "bytes", "p50",
                        "p99", "p99.9", "longest");
    for (unsigned kind = 0; kind < initiator::call_kinds; ++kind) {
        const CallSummary calls = summarize(pool, static_cast<CallKind>(kind));
        if (calls.calls == 0)
            continue;
        const double share = seconds > 0 ? seconds : 1;
        text += fmt::format(
            "  {:<14}{:>12.0f}{:>12}{:>11}{:>11}{:>11}{:>11}\n", initiator::call_names[kind],
            static_cast<double>(calls.calls) / share,
            size_text(static_cast<std::uint64_t>(static_cast<double>(calls.bytes) / share)),
            time_text(calls.p50), time_text(calls.p99), time_text(calls.p999),
            time_text(calls.max));
    }
    text += fmt::format("  unconfirmed {}; reconnects {}, replayed {}; waits for the target {}\n",
                        size_text(pool.unconfirmed_bytes), pool.facts.reconnects,
                        size_text(pool.facts.replayed_bytes), pool.waits);
    if (const std::string loss = initiator::text_in(pool.facts.last_loss); !loss.empty())
        text += fmt::format("  last loss: {}\n", printable(loss));
    return text;
}

void print(const Command& command, const RunningPools& found, double seconds) {
    if (command.json) {
        json pools = json::array();
        for (const RunningPool& pool : found.pools)
            pools.push_back(json_of(pool));
        const json all = {{"format", 1},
                          {"seconds", seconds},
                          {"pools", std::move(pools)},
                          {"hidden_processes", found.hidden},
                          {"problems", found.problems}};
        fmt::print("{}\n",
                   all.dump(seconds > 0 ? -1 : 2, ' ', true, json::error_handler_t::replace));
        return;
    }
    for (const RunningPool& pool : found.pools)
        fmt::print("{}", describe(pool, seconds));
    for (const std::string& problem : found.problems)
        fmt::print(stderr, "rpmemctl: {}\n", printable(problem));
    if (found.pools.empty())
        fmt::print("no pool is open{}\n",
                   found.hidden > 0
                       ? fmt::format(" ({} processes of other users were skipped: try --all as "
                                     "root)",
                                     found.hidden)
                       : "");
}

// Returns NOW. If a pool is also in BEFORE, its counts are those since BEFORE.
RunningPools difference(const RunningPools& before, RunningPools now) {
    for (RunningPool& pool : now.pools)
        for (const RunningPool& earlier : before.pools)
            if (is_same(earlier.counts, pool.counts)) {
                pool.counts = since(earlier.counts, pool.counts);
                break;
            }
    return now;
}

Users users_of(const Command& command) { return command.all ? Users::all : Users::own; }

} // namespace

int show_status(const Command& command) {
    const RunningPools found = find_running_pools(command.whom, users_of(command));
    print(command, found, 0);
    return found.pools.empty() && !command.whom.empty() ? status_failed : status_done;
}

int watch_status(const Command& command) {
    RunningPools before = find_running_pools(command.whom, users_of(command));
    for (unsigned view = 0; command.count == 0 || view < command.count; ++view) {
        const auto began = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(between_views);
        RunningPools now = find_running_pools(command.whom, users_of(command));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        if (::isatty(STDOUT_FILENO) == 1 && !command.json)
            fmt::print("{}", clear_screen);
        print(command, difference(before, now), took.count());
        if (std::fflush(stdout) != 0)
            return status_failed; // a closed pipe or a full disk
        before = std::move(now);
    }
    return status_done;
}

} // namespace rpmem::ctl
