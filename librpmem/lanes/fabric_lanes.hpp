// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a pool over libfabric: a provider, registered memory, and connections.
#pragma once

#include "common/transport/fabric/endpoint.hpp"
#include "librpmem/lanes/connection_lanes.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace rpmem::initiator {

// open() connects all lanes to a target of protocol 0.1, in order. To a newer target it connects
// the first lane, and the others are connected at their first use.
class FabricLanes final : public ConnectionLanes {
public:
    // FIRST_TIME is the time for each lane that open() connects.
    static Result<std::unique_ptr<ConnectionLanes>> open(const LanesRequest& request,
                                                         const Settings& settings,
                                                         std::chrono::milliseconds first_time);
    ~FabricLanes() override;

    // Returns the events of the lanes that open() has connected.
    [[nodiscard]] const fabric::EventQueue* events() const override { return events_.get(); }

private:
    // The event queue of a lane, and the time to connect it.
    struct ConnectContext {
        const fabric::EventQueue& events;
        std::chrono::milliseconds time;
    };

    FabricLanes(const LanesRequest& request, const Settings& settings)
        : ConnectionLanes(request, settings) {}
    Result<> set_up();
    Result<std::unique_ptr<FrameLane>> connect(unsigned index,
                                               std::chrono::milliseconds time) override;
    Result<std::unique_ptr<FrameLane>> connect_by(unsigned index, const ConnectContext& context);

    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::unique_ptr<fabric::EventQueue> events_; // of the lanes that open() has connected
    fabric::MemoryRegion pool_region_;
    std::timed_mutex connecting_;
    // The queues of lanes that were connected later. The monitor does not watch them.
    std::vector<std::unique_ptr<fabric::EventQueue>> own_events_;
};

} // namespace rpmem::initiator
