// SPDX-License-Identifier: BSD-3-Clause
// The faults that are planted in the code: see planted_functions.cpp.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "tests/simulation/sessions/plan.hpp"

namespace rpmem::simulation::sessions {

// Plants a fault in this process from now on.
void plant(Planted planted);
// Call when the program closes its pool.
void tell_of_close();
// Returns whether flock(2) always succeeds.
[[nodiscard]] bool locks_nothing();
// Returns whether no file has attributes.
[[nodiscard]] bool lacks_attributes();
// Returns whether each loss restarts the time limit of a call.
[[nodiscard]] bool renews_at_each_loss();
// Is called instead of FrameLane::drain().
[[nodiscard]] int planted_drain(initiator::FrameLane* lane);

} // namespace rpmem::simulation::sessions
