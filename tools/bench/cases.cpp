#include "tools/bench/cases.hpp"

#include "tools/bench/limits.hpp"
#include "tools/bench/processes.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/starting.hpp"
#include "tools/bench/strangers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace rpmem::bench {
namespace {

using benchmark::State;

constexpr std::size_t small_message = 8; // the other half of an exchange
constexpr std::size_t least_of_large_ranges = std::size_t{16} << 20; // one is enough for a round
constexpr unsigned many_lanes = 1024;
constexpr unsigned idle_lanes = 256;
// After the last operation, before what stays is looked at.
constexpr milliseconds settling_time{100};
// So long that a number of strangers comes in each round.
constexpr milliseconds time_with_strangers{200};

Pace pace_of(milliseconds time, std::size_t bytes) {
    return {.nanoseconds = Nanoseconds(time).count(),
            .least = bytes < least_of_large_ranges ? 8U : 1U};
}

double in_milliseconds(Nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

double least_of(const std::vector<double>& rounds) {
    return *std::min_element(rounds.begin(), rounds.end());
}

} // namespace

benchmark::internal::Benchmark* Cases::add(const std::string& name, unsigned rounds,
                                           const MeasureRound& measure) {
    const auto run = [this, name, measure](State& state) {
        for (auto _ : state) {
            const Result<double> seconds =
                outcome_ ? in_context(name, measure(state)) : Failure(outcome_.error());
            if (seconds) {
                state.SetIterationTime(*seconds);
            } else {
                outcome_ = Failure(seconds.error());
                state.SkipWithError("failed");
            }
        }
    };
    return benchmark::RegisterBenchmark(name.c_str(), run)
        ->Iterations(1)
        ->Repetitions(static_cast<int>(rounds))
        ->ReportAggregatesOnly()
        ->ComputeStatistics("best", least_of)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

double Cases::leave_out(const std::string& reason) {
    if (reasons_.insert(reason).second)
        note(reason);
    return 0;
}

Result<const Pool*> Cases::pool() {
    if (!pool_) {
        RPMEM_ASSIGN(pool_, Pool::create(options_, options_.most_lanes()));
        if (pool_->daemon() == 0)
            note("no rpmemd on this machine is the pool's: nothing is placed on a processor of its "
                 "own");
    }
    return pool_.get();
}

Result<double> Cases::compare(State& state, const Measurement& measurement) {
    RPMEM_ASSIGN(const Round ours, pool_->measure(measurement));
    const std::size_t bytes = measurement.operation.bytes();
    state.counters["gigabytes_per_second"] = static_cast<double>(bytes) / ours.time / 1e3;
    state.counters["p99_us"] = ours.p99;
    state.counters["cpu_us"] = ours.cpu;
    if (limits_ < 0)
        return ours.time / 1e6;
    const bool reads = measurement.operation.kind == OperationKind::read;
    const LimitTask task{.spins = !options_.no_spin,
                         .connections = measurement.lanes,
                         .request = reads ? small_message : bytes,
                         .answer = reads ? bytes : small_message,
                         .pace = measurement.pace,
                         .apart = pool_->places_ends(measurement.lanes),
                         .reads = reads};
    RPMEM_ASSIGN(const Limit limit, ask<Limit>(limits_, task, longest_measurement));
    state.counters["tcp_us"] = limit.round.time;
    state.counters["times_tcp"] = ours.time / limit.round.time;
    return ours.time / 1e6;
}

void Cases::add_operation(const std::string& name, const Measurement& measurement) {
    add(fmt::format("{}/{}/lanes:{}", name, measurement.operation.size, measurement.lanes),
        options_.rounds,
        [this, measurement, is_first = true](State& state) mutable -> Result<double> {
            RPMEM_ASSIGN(const Pool* const pool, this->pool());
            if (pool->lanes() < measurement.lanes)
                return leave_out(fmt::format("the pool has {} lanes, not {}: left out",
                                             pool->lanes(), measurement.lanes));
            // So that connecting a lane and the first touch of a page are not part of it.
            Measurement first = measurement;
            first.pace.nanoseconds = 0;
            if (std::exchange(is_first, false))
                RPMEM_TRY(pool->measure(first));
            return compare(state, measurement);
        });
}

void Cases::add_operations(OperationKind kind, const char* strict, const char* relaxed) {
    for (const std::size_t size : options_.sizes)
        for (const char* const name : {strict, relaxed})
            for (const unsigned lanes : options_.lanes) {
                const Operation operation{kind, name == relaxed, size};
                const Pace pace = pace_of(options_.time(), operation.bytes());
                if (name != nullptr && (kind != OperationKind::flush || size <= largest_flush))
                    add_operation(name, {.operation = operation, .lanes = lanes, .pace = pace});
            }
}

Result<double> Cases::start(State& state, unsigned lanes) const {
    RPMEM_ASSIGN(const double login, log_in_once(options_.target));
    RPMEM_ASSIGN(const Start created, start_once(options_, true, lanes));
    RPMEM_ASSIGN(const Start opened, start_once(options_, false, lanes));
    RPMEM_TRY(remove_pool(options_));
    state.counters["login_ms"] = login;
    state.counters["create_above_login_ms"] = created.call - login;
    state.counters["open_above_login_ms"] = opened.call - login;
    return opened.call / 1e3;
}

Result<double> Cases::connect_many(State& state) const {
    RPMEM_TRY(start_once(options_, true, 1));
    RPMEM_ASSIGN(const Start one, start_once(options_, false, 1));
    RPMEM_ASSIGN(const Start all, start_once(options_, false, many_lanes));
    RPMEM_TRY(remove_pool(options_));
    state.counters["first_use_ms"] = all.use;
    // Whenever lanes are connected, it is in one of the two.
    return std::max(all.call + all.use - one.call - one.use, 0.0) / 1e3;
}

Result<double> Cases::look_at_memory(State& state, unsigned lanes) {
    RPMEM_ASSIGN(const auto pool, Pool::create(options_, lanes));
    RPMEM_TRY(use_lanes(pool->handle(), pool->lanes()));
    std::this_thread::sleep_for(settling_time);
    const Result<Limit> limit = ask<Limit>(limits_, LimitTask{}, start_timeout);
    if (!limit)
        return leave_out(limit.error().text);
    state.counters["private_kib"] = static_cast<double>(limit->daemon_bytes) / 1024;
    return std::chrono::duration<double>(settling_time).count();
}

Result<double> Cases::idle(State& state) {
    constexpr std::chrono::seconds duration{1};
    RPMEM_ASSIGN(const Pool* const pool, this->pool());
    std::this_thread::sleep_for(settling_time);
    const Nanoseconds own = own_cpu_time();
    const Nanoseconds target = cpu_time_of(pool->daemon());
    std::this_thread::sleep_for(duration);
    state.counters["own_cpu_ms"] = in_milliseconds(own_cpu_time() - own);
    if (pool->daemon() != 0)
        state.counters["target_cpu_ms"] = in_milliseconds(cpu_time_of(pool->daemon()) - target);
    return std::chrono::duration<double>(duration).count();
}

Result<double> Cases::let_strangers_come(State& state) {
    RPMEM_ASSIGN(const Pool* const pool, this->pool());
    const std::optional<sockaddr_storage> lanes_at = youngest_peer();
    if (!lanes_at)
        return leave_out("the lanes do not go over TCP: strangers are left out");
    const Measurement measurement{.operation = {.kind = OperationKind::persist, .size = 64},
                                  .pace =
                                      pace_of(std::max(options_.time(), time_with_strangers), 64)};
    RPMEM_ASSIGN(const Round alone, pool->measure(measurement));
    RPMEM_ASSIGN(const OtherProcess strangers,
                 start_process([&](int control) { come_as_strangers(control, *lanes_at); }));
    const Clock::time_point begin = Clock::now();
    RPMEM_ASSIGN(const Round ours, pool->measure(measurement));
    const double elapsed = in_milliseconds(Clock::now() - begin);
    RPMEM_ASSIGN(const int came, ask<int>(strangers.socket.get(), 0, start_timeout));
    wait_for(strangers);
    state.counters["alone_us"] = alone.time;
    state.counters["times_alone"] = ours.time / alone.time;
    state.counters["connections_per_second"] = came / elapsed * 1e3;
    return ours.time / 1e6;
}

// What starts processes of its own comes first, and may have the pool set.
void Cases::register_wanted() {
    using benchmark::kMillisecond;
    if (options_.wants("open"))
        for (const unsigned lanes : options_.lanes)
            add(fmt::format("open/lanes:{}", lanes), options_.slow_rounds(),
                [=, this](State& state) { return start(state, lanes); })
                ->Unit(kMillisecond);
    if (options_.wants("connect1024"))
        add("connect1024", options_.slow_rounds(), [this](State& state) {
            return connect_many(state);
        })->Unit(kMillisecond);
    if (options_.wants("memory") && limits_ >= 0)
        for (const unsigned lanes : {1U, idle_lanes})
            add(fmt::format("memory/lanes:{}", lanes), 1,
                [=, this](State& state) { return look_at_memory(state, lanes); });
    if (options_.wants("persist"))
        add_operations(OperationKind::persist, "persist/strict", "persist/relaxed");
    if (options_.wants("deep_persist"))
        add_operations(OperationKind::deep_persist, "deep_persist", nullptr);
    if (options_.wants("read"))
        add_operations(OperationKind::read, "read", nullptr);
    if (options_.wants("flush"))
        add_operations(OperationKind::flush, "flush/strict", "flush/relaxed");
    if (options_.wants("idle"))
        add("idle", 1, [this](State& state) { return idle(state); })->Unit(kMillisecond);
    if (options_.wants("strangers"))
        add("strangers/64/lanes:1", options_.slow_rounds(),
            [this](State& state) { return let_strangers_come(state); });
}

} // namespace rpmem::bench
