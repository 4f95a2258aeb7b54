// SPDX-License-Identifier: BSD-3-Clause
// Simulates one seed: the real library and the real daemon with a pool, over simulated machines,
// network and clock, while sessions are lost. A finding is a violation of the promises in
// docs/reliability.md: lost or unrequested bytes, two writers, or a call that waits too long.
#pragma once

#include "tests/simulation/sessions/target.hpp"

namespace rpmem::simulation::sessions {

// Resources that successive simulations reuse.
class Arena {
public:
    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    Stacks stacks;
    PartMemory part;
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; } // the program's

private:
    std::span<std::byte> memory_;
};

struct Options {
    std::uint64_t seed = 0;
    Planted planted = Planted::none;
    bool tells = false; // print each event
};

struct Outcome {
    std::string finding; // empty if there is none
    std::uint64_t hash = 0;
    std::array<unsigned, static_cast<std::size_t>(Fault::count)> faults{}; // by kind
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    std::uint64_t logins = 0;
    std::uint64_t takeovers = 0; // takeovers of the pool by another initiator
    std::uint64_t absences = 0;  // how often the program has gone on without its replica
    std::uint64_t joins = 0;     // how often the replica was in sync again
    Time time = 0;
};

[[nodiscard]] Outcome simulate(Arena& arena, const Options& options);

} // namespace rpmem::simulation::sessions
