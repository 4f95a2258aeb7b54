// SPDX-License-Identifier: BSD-3-Clause
// Which fault of the code is planted: see planted_functions.cpp.
#pragma once

#include "tests/simulation/sessions/plan.hpp"

namespace rpmem::simulation::sessions {

// From now on, in this process.
void plant(Planted planted);
// The program closes its pool.
void tell_of_close();
// flock(2) succeeds always.
[[nodiscard]] bool locks_nothing();

} // namespace rpmem::simulation::sessions
