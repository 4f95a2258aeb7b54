// SPDX-License-Identifier: BSD-3-Clause
// Simulates one seed: the real library and the real target code for lanes, over a simulated
// network, kernel, clock and medium. A finding is a violation of a promise: an acknowledged byte
// that is not durable, a call that fails without a cause or takes too long, or an unauthenticated
// connection that is accepted.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/simulated_medium.hpp"

namespace rpmem::simulation {

// Resources that successive simulations reuse.
struct Arena {
    Stacks stacks;
    PoolFile pool;
    transport::ProofSession session = make_session(); // the same for all simulations

private:
    [[nodiscard]] static transport::ProofSession make_session();
};

struct Options {
    std::uint64_t seed = 0;
    Planted planted = Planted::none;
    bool tells = false; // print each event
};

struct Tally {
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    std::uint64_t power_cuts = 0;
    std::uint64_t tries = 0;    // further attempts to connect a lane
    std::uint64_t notified = 0; // failed calls whose error text is that of the daemon's end
};

struct Outcome {
    std::string finding;    // empty if there is none
    std::uint64_t hash = 0; // hash of the history
    Trouble trouble = Trouble::none;
    bool troubled = false; // the trouble has happened
    Tally tally;
    std::uint64_t syncs = 0;
};

[[nodiscard]] Outcome simulate(Arena& arena, const Options& options);

} // namespace rpmem::simulation
