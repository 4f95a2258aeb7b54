// SPDX-License-Identifier: BSD-3-Clause
// The loop that all measurements use, and the results of a round.
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <thread>
#include <vector>

namespace rpmem::bench {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

// How long each thread repeats its operation in a round.
struct Pace {
    std::int64_t nanoseconds = 0;     // approximate duration
    std::uint64_t min_operations = 1; // minimum number of operations, even if they take longer
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Pace, nanoseconds, min_operations)

// A quantile of the times of operations.
struct Quantile {
    const char* name; // in a report
    double part;      // share of the operations that took no longer
};
inline constexpr std::array<Quantile, 7> quantiles{{{"min_us", 0},
                                                    {"p25_us", 0.25},
                                                    {"p50_us", 0.5},
                                                    {"p75_us", 0.75},
                                                    {"p90_us", 0.9},
                                                    {"p99_us", 0.99},
                                                    {"p999_us", 0.999}}};
using Quantiles = std::array<double, quantiles.size()>;

// The result of a round: times of one operation, in microseconds.
struct Round {
    double time = 0; // median; with several threads, elapsed time / number of operations
    double cpu = 0;  // processor time of this process
    Quantiles quantiles{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Round, time, cpu, quantiles)

struct Samples {
    std::vector<std::uint64_t> nanoseconds; // one for each operation
    Nanoseconds elapsed{};
};

[[nodiscard]] inline double in_milliseconds(Nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

// Returns the processor time of PROCESS, including threads that have ended. 0 is this process.
[[nodiscard]] inline Nanoseconds cpu_time_of(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(process, &clock) == 0)
        (void)clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

// Combines the samples of the threads of a round, which started together. There must be at least
// one sample.
[[nodiscard]] inline Round summarise(const std::vector<Samples>& of_each, Nanoseconds cpu) {
    std::vector<std::uint64_t> all;
    Nanoseconds elapsed{}; // of the slowest thread
    for (const Samples& samples : of_each) {
        all.insert(all.end(), samples.nanoseconds.begin(), samples.nanoseconds.end());
        elapsed = std::max(elapsed, samples.elapsed);
    }
    std::sort(all.begin(), all.end());
    const auto count = static_cast<double>(all.size());
    const auto quantile = [&](double part) {
        const double rank = std::max(std::ceil(part * count), 1.0);
        return static_cast<double>(all[static_cast<std::size_t>(rank) - 1]);
    };
    const double time =
        of_each.size() == 1 ? quantile(0.5) : static_cast<double>(elapsed.count()) / count;
    Round round{.time = time / 1e3, .cpu = static_cast<double>(cpu.count()) / count / 1e3};
    std::ranges::transform(quantiles, round.quantiles.begin(),
                           [&](const Quantile& wanted) { return quantile(wanted.part) / 1e3; });
    return round;
}

// Repeats OPERATION, which returns a Result<>, and measures each call.
template <typename Operation>
Result<Samples> repeat(const Pace& pace, Operation operation) {
    Samples samples;
    samples.nanoseconds.reserve(4096);
    const Clock::time_point begin = Clock::now();
    for (Clock::time_point time = begin, started = begin;
         time - begin < Nanoseconds(pace.nanoseconds) ||
         samples.nanoseconds.size() < pace.min_operations;
         started = time) {
        RPMEM_TRY(operation());
        time = Clock::now();
        samples.nanoseconds.push_back(static_cast<std::uint64_t>((time - started).count()));
    }
    samples.elapsed = Clock::now() - begin;
    return samples;
}

// Calls WORK with 0 to COUNT-1, each in a thread of its own. The threads start together. If COUNT
// is 1, WORK runs in the caller's thread. WORK returns a Result<>. Returns the error of the lowest
// number, if there is one.
template <typename Work>
Result<> in_threads(unsigned count, Work work) {
    if (count == 1)
        return work(0U);
    std::vector<Result<>> results(count);
    std::barrier start(static_cast<std::ptrdiff_t>(count));
    {
        std::vector<std::jthread> threads;
        threads.reserve(count);
        for (unsigned i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                results[i] = work(i);
            });
    }
    for (Result<>& result : results)
        RPMEM_TRY(std::move(result));
    return {};
}

// Runs WORK, which returns a Result<Samples>, in THREADS threads, and combines the samples.
template <typename Work>
Result<Round> measure_round(unsigned threads, Work work) {
    std::vector<Samples> of_each(threads);
    const Nanoseconds cpu = cpu_time_of(0);
    const Result<> done = in_threads(threads, [&](unsigned i) -> Result<> {
        RPMEM_ASSIGN(of_each[i], work(i));
        return {};
    });
    RPMEM_TRY(done);
    return summarise(of_each, cpu_time_of(0) - cpu);
}

} // namespace rpmem::bench
