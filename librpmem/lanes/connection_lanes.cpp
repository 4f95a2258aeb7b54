// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/connection_lanes.hpp"

namespace rpmem::initiator {

Result<FrameLane*> ConnectionLanes::use_lane(unsigned index, std::chrono::milliseconds time) {
    if (FrameLane* const connected = lane(index))
        return connected;
    RPMEM_ASSIGN(auto connected, connect(index, time));
    put(index, std::move(connected));
    return lane(index);
}

void ConnectionLanes::put(unsigned index, std::unique_ptr<FrameLane> lane) {
    lanes_[index].owned = std::move(lane);
    lanes_[index].ready.store(lanes_[index].owned.get(), std::memory_order_release);
}

void ConnectionLanes::release_in_child() {
    for (unsigned index = 0; index < request_.lanes; ++index)
        if (FrameLane* const connected = lane(index))
            connected->release_in_child();
}

} // namespace rpmem::initiator
