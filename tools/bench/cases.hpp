// The cases, each a benchmark of Google Benchmark: one of its repetitions is one round, in which
// ours and its limit are measured in turn.
#pragma once

#include "tools/bench/options.hpp"
#include "tools/bench/pool.hpp"

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace rpmem::bench {

class Cases {
public:
    // LIMITS: the socket to them; -1 if there is no way to the process that answers.
    Cases(const Options& options, int limits) : options_(options), limits_(limits) {}
    // Makes the wanted cases known to Google Benchmark, for which this object must stay.
    void register_wanted();
    // The first error: it ends the run.
    [[nodiscard]] const Result<>& outcome() const { return outcome_; }

private:
    // One round: the time of ours, in seconds; 0: it is left out. What else is to be told goes to
    // the counters.
    using MeasureRound = std::function<Result<double>(benchmark::State&)>;

    benchmark::internal::Benchmark* add(const std::string& name, unsigned rounds,
                                        const MeasureRound& measure);
    // NAME of a strict one and of a relaxed one; without the latter there is none.
    void add_operations(OperationKind kind, const char* strict, const char* relaxed);
    void add_operation(const std::string& name, const Measurement& measurement);
    [[nodiscard]] Result<double> compare(benchmark::State& state, const Measurement& measurement);
    [[nodiscard]] Result<double> start(benchmark::State& state, unsigned lanes) const;
    [[nodiscard]] Result<double> connect_many(benchmark::State& state) const;
    [[nodiscard]] Result<double> look_at_memory(benchmark::State& state, unsigned lanes);
    [[nodiscard]] Result<double> idle(benchmark::State& state);
    [[nodiscard]] Result<double> let_strangers_come(benchmark::State& state);
    // Tells the reason once.
    [[nodiscard]] double leave_out(const std::string& reason);
    // The pool of all operations; made when the first one needs it.
    [[nodiscard]] Result<const Pool*> pool();

    const Options& options_;
    int limits_;
    std::unique_ptr<Pool> pool_;
    std::set<std::string> reasons_;
    Result<> outcome_;
};

} // namespace rpmem::bench
