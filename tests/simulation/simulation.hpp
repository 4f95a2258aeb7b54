// SPDX-License-Identifier: BSD-3-Clause
// One seed, from its plan to what was found.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/simulated_medium.hpp"

namespace rpmem::simulation {

// What simulations use one after the other.
struct Arena {
    Stacks stacks;
    PoolFile pool;
    transport::ProofSession session = make_session(); // of all of them

private:
    [[nodiscard]] static transport::ProofSession make_session();
};

struct Options {
    std::uint64_t seed = 0;
    Planted planted = Planted::none;
    bool tells = false; // prints what happens
};

struct Tally {
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    std::uint64_t power_cuts = 0;
    std::uint64_t tries = 0; // to connect a lane, behind its first one
    std::uint64_t told = 0;  // calls that failed as the daemon was told to end, with these words
};

struct Outcome {
    std::string finding;    // empty: all was as it must be
    std::uint64_t hash = 0; // of what happened
    Trouble trouble = Trouble::none;
    bool troubled = false; // it has happened
    Tally tally;
    std::uint64_t syncs = 0;
};

[[nodiscard]] Outcome simulate(Arena& arena, const Options& options);

} // namespace rpmem::simulation
