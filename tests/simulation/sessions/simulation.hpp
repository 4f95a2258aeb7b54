// SPDX-License-Identifier: BSD-3-Clause
// One seed, from its plan to what was found: a pool over sessions that are lost.
#pragma once

#include "tests/simulation/sessions/target.hpp"

namespace rpmem::simulation::sessions {

// What simulations use one after the other.
class Arena {
public:
    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    Stacks stacks;
    PartMemory part;
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; } // of a program

private:
    std::span<std::byte> memory_;
};

struct Options {
    std::uint64_t seed = 0;
    Planted planted = Planted::none;
    bool tells = false; // prints what happens
};

struct Outcome {
    std::string finding; // empty: all was as it must be
    std::uint64_t hash = 0;
    std::array<unsigned, static_cast<std::size_t>(Fault::count)> faults{}; // that have happened
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    std::uint64_t logins = 0;
    std::uint64_t takeovers = 0; // of the pool, by another initiator
    Time time = 0;
};

[[nodiscard]] Outcome simulate(Arena& arena, const Options& options);

} // namespace rpmem::simulation::sessions
