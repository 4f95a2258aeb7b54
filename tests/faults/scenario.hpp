// SPDX-License-Identifier: BSD-3-Clause
// What a program does with a pool while one call of its library, or of the daemon, fails, and what
// it finds afterwards.
#pragma once

#include "tests/faults/place.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace rpmem::faults {

enum class Scenario { create, open, reconnect, idle, remove };

struct ScenarioRow {
    Scenario scenario;
    std::string_view name;
    bool needs_pool; // is there before; else there is none
};

inline constexpr std::array<ScenarioRow, 5> scenarios = {{{Scenario::create, "create", false},
                                                          {Scenario::open, "open", true},
                                                          {Scenario::reconnect, "reconnect", true},
                                                          {Scenario::idle, "idle", true},
                                                          {Scenario::remove, "remove", true}}};

// In a process of its own, which ends after that. SEED: of what is written. Afterwards there is a
// pool.
void run(Scenario scenario, const Place& place, std::uint64_t seed);

} // namespace rpmem::faults
