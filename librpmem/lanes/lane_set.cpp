// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/lane_set.hpp"

namespace rpmem::initiator {

Result<FrameLane*> LaneSet::use_lane(unsigned index, std::chrono::milliseconds time) {
    if (FrameLane* const connected = lane(index))
        return connected;
    const std::lock_guard lock(slots_[index].connecting);
    if (!slots_[index].lane) {
        RPMEM_ASSIGN(auto connected, connect(index, time));
        put(index, std::move(connected));
    }
    return slots_[index].lane.get();
}

void LaneSet::put(unsigned index, std::unique_ptr<FrameLane> lane) {
    Slot& slot = slots_[index];
    slot.lane = std::move(lane);
    slot.ready.store(slot.lane.get(), std::memory_order_release);
}

void LaneSet::release_in_child() {
    for (unsigned index = 0; index < request_.lanes; ++index)
        if (FrameLane* const connected = lane(index))
            connected->release_in_child();
}

} // namespace rpmem::initiator
