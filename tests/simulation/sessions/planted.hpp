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
// Whether the ranges that the target has not acknowledged are not marked at a loss.
[[nodiscard]] bool marks_no_owed();
// Whether a join does not wait for calls that are marking.
[[nodiscard]] bool has_no_gate();
// Whether the target's record is in sync before the last blocks are sent.
[[nodiscard]] bool records_early();
// Whether any memory is proved to be newer than the replica.
[[nodiscard]] bool proves_everything();
// STORES: a daemon begins to store the state of a replica, or has ended.
void stores_state(bool stores);
// Whether fsync(2) leaves the attributes as they are on the medium.
[[nodiscard]] bool leaves_attributes();
// Clears the marks that were not cleared before their blocks were read.
void clear_late_marks();
// Call it when a program begins. The marks of an earlier one may have been destroyed.
void forget_late_marks();
// Is called instead of FrameLane::drain().
[[nodiscard]] int planted_drain(initiator::FrameLane* lane);

} // namespace rpmem::simulation::sessions
