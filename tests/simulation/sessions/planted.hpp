// SPDX-License-Identifier: BSD-3-Clause
// Which fault of the code is planted: see planted_functions.cpp.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "tests/simulation/sessions/plan.hpp"

namespace rpmem::simulation::sessions {

// From now on, in this process.
void plant(Planted planted);
// The program closes its pool.
void tell_of_close();
// flock(2) succeeds always.
[[nodiscard]] bool locks_nothing();
// No file has attributes.
[[nodiscard]] bool lacks_attributes();
// Each loss starts the time of a call anew.
[[nodiscard]] bool renews_at_each_loss();
// In the place of FrameLane::drain().
[[nodiscard]] int planted_drain(initiator::FrameLane* lane);

} // namespace rpmem::simulation::sessions
