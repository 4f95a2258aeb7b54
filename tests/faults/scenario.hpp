// SPDX-License-Identifier: BSD-3-Clause
// The scenarios of the tests with faults: a program uses a pool while one call of its library or of
// the daemon fails. Afterwards it checks what is left.
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
    bool needs_pool; // the pool exists before the scenario begins
};

inline constexpr std::array<ScenarioRow, 5> scenarios = {{{Scenario::create, "create", false},
                                                          {Scenario::open, "open", true},
                                                          {Scenario::reconnect, "reconnect", true},
                                                          {Scenario::idle, "idle", true},
                                                          {Scenario::remove, "remove", true}}};

// Runs a scenario. Call it in a process that ends afterwards. SEED selects the bytes that are
// written. Afterwards the pool exists.
void run(Scenario scenario, const Place& place, std::uint64_t seed);

} // namespace rpmem::faults
