// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/cases.hpp"

#include "common/base/io.hpp"
#include "tools/bench/away.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/pool.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/tcp_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

namespace rpmem::bench {
namespace {

using benchmark::State;

constexpr std::size_t small_message = 8;                   // the direction that carries no data
constexpr std::size_t large_range = std::size_t{16} << 20; // one operation is enough for a round
// Pause between the last operation and the measurement of an idle session.
constexpr milliseconds settling_time{100};
// Minimum duration of a round of the case `refused`, in which about 40 unauthenticated
// connections arrive.
constexpr unsigned min_unauthenticated_round = 200;
constexpr milliseconds unauthenticated_pause{5}; // 200 connections a second
// Maximum number of unauthenticated connections that are open at once. Half of them send nothing,
// and the daemon keeps these for a while.
constexpr std::size_t max_open = 100;
// An invalid first message, shorter than a valid one. The daemon rejects it at its first byte.
constexpr std::array<char, 64> unauthenticated_bytes{};

Pace pace_of(unsigned time, std::size_t bytes) {
    return {.nanoseconds = Nanoseconds(milliseconds(time)).count(),
            .min_operations = bytes < large_range ? 8U : 1U};
}

double min_of(const std::vector<double>& rounds) { return *std::ranges::min_element(rounds); }

// Connects to LANES_AT without authentication until CONTROL is readable. Every second connection
// sends an invalid message. Then sends the number of connections to CONTROL.
void connect_unauthenticated(int control, const Place& lanes_at) {
    // This process has inherited the affinity of the measuring thread, which may have a processor
    // of its own. It must not share that processor.
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof(all));
    place(::getpid(), Side::asking, false, all);
    std::array<UniqueFd, max_open> open;
    int connections = 0;
    auto next = Clock::now();
    for (std::size_t i = 0;; ++i) {
        Result<UniqueFd> fd = connect_to(lanes_at);
        if (fd) {
            ++connections;
            if (i % 2 == 0)
                (void)::send(fd->get(), unauthenticated_bytes.data(), unauthenticated_bytes.size(),
                             MSG_NOSIGNAL);
            open[i % max_open] = std::move(*fd);
        }
        next += unauthenticated_pause;
        const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
        if (wait_readable(control, Deadline(left)).value_or(true))
            break;
    }
    (void)send_line(control, connections);
}

class Cases {
public:
    Cases(const Options& options, int limits) : options_(options), limits_(limits) {}

    Result<> run() {
        register_wanted();
        benchmark::RunSpecifiedBenchmarks(make_report(options_).get());
        return std::move(outcome_);
    }

private:
    // Measures one round. Returns the time of one operation of the library in microseconds, or 0 to
    // leave the round out of the report. Stores the other results in the counters.
    using MeasureRound = std::function<Result<double>(State&)>;

    void add(const std::string& name, unsigned rounds, const MeasureRound& measure) {
        const auto run = [this, name, measure](State& state) {
            for (auto _ : state) {
                if (outcome_)
                    outcome_ = in_context(name, measure(state)).map([&](double time) {
                        state.SetIterationTime(time / 1e6);
                    });
                if (!outcome_)
                    state.SkipWithError("failed");
            }
        };
        benchmark::RegisterBenchmark(name.c_str(), run)
            ->Iterations(1)
            ->Repetitions(static_cast<int>(rounds))
            ->ReportAggregatesOnly()
            ->ComputeStatistics("best", min_of)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }

    // Returns the pool of all operations. The first call creates it.
    Result<const Pool*> pool() {
        if (!pool_) {
            RPMEM_ASSIGN(pool_,
                         Pool::open(options_, Opening::creates_for_itself, options_.max_lanes()));
        }
        return pool_.get();
    }

    // Adds the cases STRICT and, unless it is null, RELAXED for each size and number of lanes.
    void add_operations(OperationKind kind, const char* strict, const char* relaxed) {
        for (const std::size_t size : options_.sizes)
            for (const char* const name : {strict, relaxed})
                for (const unsigned lanes : options_.lanes) {
                    const Operation operation{kind, name == relaxed, size};
                    const Pace pace = pace_of(options_.milliseconds, operation.bytes());
                    if (name != nullptr && (kind != OperationKind::flush || size <= largest_flush))
                        add_operation(name, {.operation = operation, .lanes = lanes, .pace = pace});
                }
    }

    void add_operation(const std::string& name, const Measurement& measurement) {
        const auto round = [this, measurement,
                            is_first = true](State& state) mutable -> Result<double> {
            RPMEM_ASSIGN(const Pool* const pool, this->pool());
            if (pool->lanes() < measurement.lanes)
                return 0; // the daemon grants fewer lanes
            // A short measurement precedes the first round, so that connecting the lanes and the
            // first access to each page are not measured.
            Measurement first = measurement;
            first.pace.nanoseconds = 0;
            if (std::exchange(is_first, false))
                RPMEM_TRY(pool->measure(first));
            RPMEM_ASSIGN(const Round ours, pool->measure(measurement));
            report(state, ours, measurement.operation.bytes());
            if (limits_ >= 0)
                RPMEM_TRY(compare(state, ours, measurement));
            return ours.time;
        };
        add(fmt::format("{}/{}/lanes:{}", name, measurement.operation.size, measurement.lanes),
            options_.rounds, round);
    }

    static void report(State& state, const Round& ours, std::size_t bytes) {
        state.counters["gigabytes_per_second"] = static_cast<double>(bytes) / ours.time / 1e3;
        for (std::size_t i = 0; i < quantiles.size(); ++i)
            state.counters[quantiles[i].name] = ours.quantiles[i];
        state.counters["cpu_us"] = ours.cpu;
    }

    Result<> compare(State& state, const Round& ours, const Measurement& measurement) const {
        const bool reads = measurement.operation.kind == OperationKind::read;
        const std::size_t bytes = measurement.operation.bytes();
        const LimitTask task{.spins = !options_.no_spin,
                             .connections = measurement.lanes,
                             .request = reads ? small_message : bytes,
                             .answer = reads ? bytes : small_message,
                             .pace = measurement.pace,
                             .apart = pool_->places_ends(measurement.lanes),
                             .reads = reads};
        RPMEM_ASSIGN(const Round limit, ask<Round>(limits_, task, max_run));
        state.counters["tcp_us"] = limit.time;
        state.counters["times_tcp"] = ours.time / limit.time;
        return {};
    }

    Result<double> start(State& state, unsigned lanes) const {
        RPMEM_ASSIGN(const double login, log_in_once(options_.target));
        RPMEM_ASSIGN(const Start created, start_once(options_, Opening::creates, lanes));
        RPMEM_ASSIGN(const Start one, start_once(options_, Opening::opens, 1));
        RPMEM_ASSIGN(const Start all, start_once(options_, Opening::opens, lanes));
        RPMEM_TRY(remove_pool(options_));
        state.counters["login_ms"] = login;
        state.counters["create_above_login_ms"] = created.call - login;
        state.counters["open_above_login_ms"] = all.call - login;
        // The lanes are connected either in the call or at their first use, so both times count.
        state.counters["lanes_ms"] = all.call + all.use - one.call - one.use;
        return all.call * 1e3;
    }

    Result<double> idle(State& state, unsigned lanes) const {
        constexpr std::chrono::seconds duration{1};
        RPMEM_ASSIGN(const auto pool, Pool::open(options_, Opening::creates_for_itself, lanes));
        RPMEM_TRY(pool->use_lanes(pool->lanes()));
        std::this_thread::sleep_for(settling_time);
        const Nanoseconds own = cpu_time_of(0);
        const Nanoseconds target = cpu_time_of(pool->daemon());
        std::this_thread::sleep_for(duration);
        state.counters["own_cpu_ms"] = in_milliseconds(cpu_time_of(0) - own);
        if (pool->daemon() != 0)
            state.counters["target_cpu_ms"] = in_milliseconds(cpu_time_of(pool->daemon()) - target);
        if (limits_ < 0)
            return in_milliseconds(duration) * 1e3;
        if (const auto bytes = ask<double>(limits_, LimitTask{}, start_timeout))
            state.counters["private_kib"] = *bytes / 1024;
        else
            fmt::print(stderr, "rpmem-bench: note: {}\n", bytes.error().text);
        return in_milliseconds(duration) * 1e3;
    }

    Result<double> persist_beside_unauthenticated(State& state) {
        RPMEM_ASSIGN(const Pool* const pool, this->pool());
        const Operation operation{.kind = OperationKind::persist, .size = 64};
        const Pace pace =
            pace_of(std::max(options_.milliseconds, min_unauthenticated_round), operation.size);
        RPMEM_ASSIGN(const Round alone, pool->measure({.operation = operation, .pace = pace}));
        const std::optional<Place> lanes_at = youngest_peer();
        if (!lanes_at)
            return 0; // the lanes do not use TCP
        RPMEM_ASSIGN(const OtherProcess unauthenticated, start_process([&](int control) {
                         connect_unauthenticated(control, *lanes_at);
                     }));
        const Clock::time_point begin = Clock::now();
        RPMEM_ASSIGN(const Round ours, pool->measure({.operation = operation, .pace = pace}));
        const double elapsed = in_milliseconds(Clock::now() - begin);
        RPMEM_ASSIGN(const int came, ask<int>(unauthenticated.socket.get(), 0, start_timeout));
        wait_for(unauthenticated);
        state.counters["alone_us"] = alone.time;
        state.counters["times_alone"] = ours.time / alone.time;
        state.counters["connections_per_second"] = came / elapsed * 1e3;
        return ours.time;
    }

    // Returns nothing, after a note, if the library or the target does not support it.
    Result<std::optional<AwayRound>> away_round(const char* name, bool compares) const {
        RPMEM_ASSIGN(AwayRound round, measure_away_once(options_, compares));
        if (round.not_supported.empty())
            return round;
        fmt::print(stderr, "rpmem-bench: note: no case {}: {}\n", name, round.not_supported);
        return std::nullopt;
    }

    Result<double> away(State& state) const {
        RPMEM_ASSIGN(const auto round, away_round("away", false));
        if (!round)
            return 0;
        const auto bytes = static_cast<double>(options_.pool_size());
        state.counters["gigabytes_per_second"] = bytes / round->catch_up / 1e6;
        state.counters["push_gigabytes_per_second"] = bytes / round->push / 1e6;
        state.counters["persist_gigabytes_per_second"] = bytes / round->persist / 1e6;
        state.counters["times_push"] = round->push / round->catch_up;
        state.counters["times_persist"] = round->persist / round->catch_up;
        state.counters["join_pause_ms"] = round->join_pause;
        state.counters["in_sync_p99_us"] = round->p99_us;
        state.counters["catch_up_p99_us"] = round->catch_up_p99_us;
        state.counters["capped_p99_us"] = round->capped_p99_us;
        state.counters["times_p99"] = round->catch_up_p99_us / round->p99_us;
        state.counters["times_p99_capped"] = round->capped_p99_us / round->p99_us;
        state.counters["mark_ns"] = round->mark_ns;
        state.counters["flush_ns"] = round->flush_ns;
        state.counters["mark_above_flush_ns"] = round->mark_ns - round->flush_ns;
        return round->catch_up * 1e3;
    }

    Result<double> compare_pool(State& state) const {
        RPMEM_ASSIGN(const auto round, away_round("compare", true));
        if (!round)
            return 0;
        const double comparing = round->comparing_write - round->first_write;
        state.counters["gigabytes_per_second"] =
            static_cast<double>(options_.pool_size()) / comparing / 1e6;
        state.counters["first_write_ms"] = round->first_write;
        return round->comparing_write * 1e3;
    }

    // `open`, `idle`, `away` and `compare` come first, because they create and remove the pool
    // themselves. The other cases share one pool, which exists until the end.
    void register_wanted() {
        for (const unsigned lanes : options_.lanes)
            if (options_.wants("open"))
                add(fmt::format("open/lanes:{}", lanes), options_.slow_rounds(),
                    [=, this](State& state) { return start(state, lanes); });
        for (const unsigned lanes : options_.lanes)
            if (options_.wants("idle"))
                add(fmt::format("idle/lanes:{}", lanes), 1,
                    [=, this](State& state) { return idle(state, lanes); });
        if (options_.wants("away"))
            add("away/lanes:1", options_.slow_rounds(),
                [this](State& state) { return away(state); });
        if (options_.wants("compare"))
            add("compare/lanes:1", options_.slow_rounds(),
                [this](State& state) { return compare_pool(state); });
        if (options_.wants("persist"))
            add_operations(OperationKind::persist, "persist/strict", "persist/relaxed");
        if (options_.wants("deep_persist"))
            add_operations(OperationKind::deep_persist, "deep_persist", nullptr);
        if (options_.wants("read"))
            add_operations(OperationKind::read, "read", nullptr);
        if (options_.wants("flush"))
            add_operations(OperationKind::flush, "flush/strict", "flush/relaxed");
        if (options_.wants("refused"))
            add("refused/64/lanes:1", options_.slow_rounds(),
                [this](State& state) { return persist_beside_unauthenticated(state); });
    }

    const Options& options_;
    int limits_;
    std::unique_ptr<Pool> pool_;
    Result<> outcome_;
};

} // namespace

Result<> run_cases(const Options& options, int limits) { return Cases(options, limits).run(); }

} // namespace rpmem::bench
