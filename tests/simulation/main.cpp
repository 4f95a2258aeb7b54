// SPDX-License-Identifier: BSD-3-Clause
// Runs simulations of lanes: see simulation.hpp. Exits with 1 if a seed has a finding.
//   simulation --seed N             prints each event of one seed
//   simulation --seeds FIRST COUNT  prints the findings of several seeds
//   --fault NAME                    plants a fault
#include "tests/simulation/simulation.hpp"

#include <CLI/CLI.hpp>

namespace {

using namespace rpmem::simulation;

int run_one(Arena& arena, std::uint64_t seed, Planted planted) {
    const Outcome outcome = simulate(arena, {.seed = seed, .planted = planted, .tells = true});
    fmt::print("seed {}: {}; history {:016x}\n", seed,
               outcome.finding.empty() ? "all is as it must be" : outcome.finding, outcome.hash);
    return outcome.finding.empty() ? 0 : 1;
}

int run_many(Arena& arena, std::uint64_t first, std::uint64_t count, Planted planted) {
    const auto began = std::chrono::steady_clock::now();
    std::array<std::uint64_t, static_cast<std::size_t>(Trouble::count)> happened{};
    Tally tally;
    std::uint64_t history = 0;
    std::uint64_t findings = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed, .planted = planted});
        if (outcome.troubled)
            ++happened[static_cast<std::size_t>(outcome.trouble)];
        history = Random::mixed(history ^ outcome.hash);
        tally.calls += outcome.tally.calls;
        tally.failed_calls += outcome.tally.failed_calls;
        tally.power_cuts += outcome.tally.power_cuts;
        tally.tries += outcome.tally.tries;
        tally.notified += outcome.tally.notified;
        if (!outcome.finding.empty() && ++findings <= 20)
            fmt::print("seed {}: {}\n", seed, outcome.finding);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    fmt::print("{} seeds, {} with a finding; {} calls, {} of them failed; {} power cuts; {} "
               "lanes tried again, {} calls told of the end;",
               count, findings, tally.calls, tally.failed_calls, tally.power_cuts, tally.tries,
               tally.notified);
    for (std::size_t i = 1; i < happened.size(); ++i)
        fmt::print(" {} {}", name_of(static_cast<Trouble>(i)), happened[i]);
    fmt::print("; history {:016x}; {:.0f} seeds a second\n", history,
               static_cast<double>(count) / taken.count());
    return findings == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Lanes over a simulated network, with a simulated clock");
    std::uint64_t seed = 0;
    std::vector<std::uint64_t> seeds;
    std::string fault = "none";
    auto* const one = app.add_option("--seed", seed, "Tell what happens with this seed");
    app.add_option("--seeds", seeds, "The first seed, and how many")->expected(2)->excludes(one);
    app.add_option("--fault", fault, "Plant a fault");
    CLI11_PARSE(app, argc, argv);
    const auto planted = planted_of(fault);
    if (!planted || (one->empty() && seeds.empty())) {
        fmt::print(stderr, "give --seed or --seeds, and the name of a fault that there is\n");
        return 2;
    }
    Arena arena;
    return seeds.empty() ? run_one(arena, seed, *planted)
                         : run_many(arena, seeds[0], seeds[1], *planted);
}
