// SPDX-License-Identifier: BSD-3-Clause
// The round of the case `away`.
#include "tools/bench/away_pool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

namespace rpmem::bench {
namespace {

constexpr unsigned copies = 3; // by each way
// To read the clock takes as long as a mark, so so many marks are measured together.
constexpr unsigned marks_together = 256;
// How often the state of the replica is looked at, between two calls.
constexpr std::chrono::microseconds look_interval{1000};
constexpr std::chrono::seconds max_catch_up(60);

double p99_of(const Samples& calls) {
    const Round round = summarise({calls}, {});
    for (std::size_t i = 0; i < quantiles.size(); ++i)
        if (quantiles[i].part == 0.99)
            return round.quantiles[i];
    return 0;
}

// There are millions of calls while a replica catches up, and to store a sample of each would cost
// more than the calls.
class Histogram {
public:
    void add(Nanoseconds time) {
        ++counts_[std::min(static_cast<std::size_t>(time.count()), counts_.size() - 1)];
        ++total_;
        max_ = std::max(max_, time);
    }
    [[nodiscard]] bool is_empty() const { return total_ == 0; }
    [[nodiscard]] Nanoseconds max() const { return max_; }
    [[nodiscard]] double p99_us() const {
        const auto wanted =
            static_cast<std::uint64_t>(std::ceil(static_cast<double>(total_) * 0.99));
        std::uint64_t seen = 0;
        std::size_t time = 0;
        for (; time + 1 < counts_.size(); ++time)
            if (seen += counts_[time]; seen >= wanted)
                break;
        return static_cast<double>(time) / 1e3;
    }

private:
    // One for each nanosecond. The last one counts all times that are longer.
    std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(1'000'001);
    std::uint64_t total_ = 0;
    Nanoseconds max_{};
};

double median_of(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

class Absence {
public:
    // PUSH and PERSIST: those of AwayRound.
    Absence(const AwayTask& task, AwayPool& pool, double push, double persist)
        : task_(task), pool_(pool) {
        round_.push = push;
        round_.persist = persist;
    }

    Result<AwayRound> measure() {
        RPMEM_TRY(measure_in_sync());
        RPMEM_TRY(leave());
        RPMEM_TRY(measure_marks());
        RPMEM_TRY(catch_up_alone());
        RPMEM_TRY(leave());
        RPMEM_TRY(catch_up_beside_calls(round_.catch_up_p99_us));
        const double rate = static_cast<double>(task_.pool_size) / round_.persist * 1e3;
        RPMEM_TRY(leave());
        RPMEM_TRY(pool_.limit_rate(static_cast<std::uint64_t>(rate / 2)));
        RPMEM_TRY(catch_up_beside_calls(round_.capped_p99_us));
        return round_;
    }

private:
    Result<> measure_in_sync() {
        RPMEM_ASSIGN(const Samples calls, repeat(task_.pace, [&] { return pool_.persist_next(); }));
        round_.p99_us = p99_of(calls);
        return {};
    }

    // The target is away, and lacks the whole pool.
    Result<> leave() {
        RPMEM_TRY(pool_.pause());
        RPMEM_TRY(pool_.persist_all());
        return {};
    }

    // Takes turns, so that other load on the machine affects both.
    Result<> measure_marks() {
        std::vector<double> marks;
        std::vector<double> flushes;
        const auto end = Clock::now() + Nanoseconds(task_.pace.nanoseconds);
        for (auto now = Clock::now(); now < end || marks.empty();) {
            for (unsigned i = 0; i < marks_together; ++i)
                RPMEM_TRY(pool_.persist_next());
            const auto marked = Clock::now();
            for (unsigned i = 0; i < marks_together; ++i)
                pool_.flush_next();
            const auto flushed = Clock::now();
            marks.push_back(static_cast<double>((marked - now).count()) / marks_together);
            flushes.push_back(static_cast<double>((flushed - marked).count()) / marks_together);
            now = flushed;
        }
        round_.mark_ns = median_of(std::move(marks));
        round_.flush_ns = median_of(std::move(flushes));
        return {};
    }

    Result<> catch_up_alone() {
        RPMEM_ASSIGN(ChildProcess resuming, pool_.start_resume());
        RPMEM_ASSIGN(unsigned state, pool_.state());
        const auto end = Clock::now() + max_catch_up;
        while (state != RPMEM_REPLICA_CATCHING_UP) {
            if (state == RPMEM_REPLICA_IN_SYNC || Clock::now() > end)
                return missed();
            std::this_thread::sleep_for(look_interval / 5);
            RPMEM_ASSIGN(state, pool_.state());
        }
        const auto begin = Clock::now();
        RPMEM_TRY(pool_.wait_in_sync());
        round_.catch_up = in_milliseconds(Clock::now() - begin);
        return AwayPool::finish(resuming);
    }

    // Stores the 99th percentile of the calls in P99, and notes the longest one. That one includes
    // the join, and the first use of the lane after it.
    Result<> catch_up_beside_calls(double& p99) {
        RPMEM_ASSIGN(ChildProcess resuming, pool_.start_resume());
        Histogram calls;
        unsigned state = RPMEM_REPLICA_PAUSED;
        const auto end = Clock::now() + max_catch_up;
        for (auto looked = Clock::now(); state != RPMEM_REPLICA_IN_SYNC;) {
            const auto called = Clock::now();
            RPMEM_TRY(pool_.persist_next());
            const auto returned = Clock::now();
            if (state == RPMEM_REPLICA_CATCHING_UP)
                calls.add(returned - called);
            if (returned - looked < look_interval)
                continue;
            RPMEM_ASSIGN(state, pool_.state());
            looked = Clock::now();
            if (looked > end)
                return missed();
        }
        if (calls.is_empty())
            return missed();
        p99 = calls.p99_us();
        round_.join_pause = std::max(round_.join_pause, in_milliseconds(calls.max()));
        return AwayPool::finish(resuming);
    }

    static Failure missed() {
        return fail(ErrorClass::resource_limit, ETIMEDOUT,
                    "the replica was not seen catching up within {} s", max_catch_up.count());
    }

    const AwayTask& task_;
    AwayPool& pool_;
    AwayRound round_;
};

// The target maps the pool anew in each session, also in the one that catches up. So these are
// those of new sessions, too.
Result<double> measure_push(const AwayTask& task) {
    RPMEM_ASSIGN(auto pool, AwayPool::create(task));
    RPMEM_TRY(pool->persist_all()); // allocates the pool on the target
    pool.reset();
    std::vector<double> times;
    while (times.size() < copies) {
        RPMEM_ASSIGN(const double time, AwayPool::push_file(task));
        times.push_back(time);
    }
    RPMEM_ASSIGN(pool, AwayPool::open(task));
    pool->remove_at_end();
    return median_of(std::move(times));
}

// A first call connects the lane.
Result<AwayRound> measure_absence_of(const AwayTask& task, double push) {
    RPMEM_ASSIGN(auto pool, AwayPool::create(task));
    RPMEM_TRY(pool->persist_all());
    std::vector<double> times;
    while (times.size() < copies) {
        pool.reset();
        RPMEM_ASSIGN(pool, AwayPool::open(task));
        RPMEM_TRY(pool->persist_next());
        RPMEM_ASSIGN(const double time, pool->persist_all());
        times.push_back(time);
    }
    pool->remove_at_end();
    return Absence(task, *pool, push, median_of(std::move(times))).measure();
}

} // namespace

// The session after a push has no proof that its memory is the source, because its file has no
// header. So the absence is that of another pool.
Result<AwayRound> measure_absence(const AwayTask& task) {
    RPMEM_ASSIGN(const double push, measure_push(task));
    return measure_absence_of(task, push);
}

} // namespace rpmem::bench
