// SPDX-License-Identifier: BSD-3-Clause
// Runs simulations of sessions: see simulation.hpp. Exits with 1 if a seed has a finding.
//   session_simulation --seed N             prints each event of one seed
//   session_simulation --seeds FIRST COUNT  prints the findings of several seeds
//   --fault NAME                            plants a fault
#include "tests/simulation/sessions/simulation.hpp"

#include <CLI/CLI.hpp>

namespace {

using rpmem::simulation::Random;
using rpmem::simulation::second;
using namespace rpmem::simulation::sessions;

int run_one(std::uint64_t seed, Planted planted) {
    Arena arena;
    const Outcome outcome = simulate(arena, {.seed = seed, .planted = planted, .tells = true});
    fmt::print("seed {}: {}; history {:016x}\n", seed,
               outcome.finding.empty() ? "all is as it must be" : outcome.finding, outcome.hash);
    return outcome.finding.empty() ? 0 : 1;
}

int run_many(std::uint64_t first, std::uint64_t count, Planted planted) {
    Arena arena;
    const auto began = std::chrono::steady_clock::now();
    Outcome sum;
    std::uint64_t findings = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed, .planted = planted});
        for (std::size_t i = 0; i < sum.faults.size(); ++i)
            sum.faults[i] += outcome.faults[i];
        sum.hash = Random::mixed(sum.hash ^ outcome.hash);
        sum.calls += outcome.calls;
        sum.failed_calls += outcome.failed_calls;
        sum.logins += outcome.logins;
        sum.takeovers += outcome.takeovers;
        sum.absences += outcome.absences;
        sum.joins += outcome.joins;
        sum.time += outcome.time / second;
        if (!outcome.finding.empty() && ++findings <= 20)
            fmt::print("seed {}: {}\n", seed, outcome.finding);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    fmt::print("{} seeds, {} with a finding; {} calls, {} of them failed; {} logins; {} times "
               "another initiator had the pool; {} times a program went on alone, and {} times its "
               "replica was in sync again;",
               count, findings, sum.calls, sum.failed_calls, sum.logins, sum.takeovers,
               sum.absences, sum.joins);
    for (std::size_t i = 0; i < sum.faults.size(); ++i)
        fmt::print(" {} {}", fault_names[i], sum.faults[i]);
    fmt::print("; {} s simulated; history {:016x}; {:.0f} seeds a second\n", sum.time, sum.hash,
               static_cast<double>(count) / taken.count());
    return findings == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("A pool over sessions that are lost, on a simulated network and clock");
    std::uint64_t seed = 0;
    std::vector<std::uint64_t> seeds;
    std::string fault = "none";
    auto* const one = app.add_option("--seed", seed, "Tell what happens with this seed");
    app.add_option("--seeds", seeds, "The first seed, and how many")->expected(2)->excludes(one);
    app.add_option("--fault", fault, "Plant a fault");
    CLI11_PARSE(app, argc, argv);
    const auto* const planted = std::ranges::find(planted_names, fault);
    if (planted == planted_names.end() || (one->empty() && seeds.empty())) {
        fmt::print(stderr, "give --seed or --seeds, and the name of a fault that there is\n");
        return 2;
    }
    const auto chosen = static_cast<Planted>(planted - planted_names.begin());
    return seeds.empty() ? run_one(seed, chosen) : run_many(seeds[0], seeds[1], chosen);
}
