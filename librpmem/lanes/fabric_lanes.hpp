// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a pool over libfabric: a provider, registered memory, and connections.
#pragma once

#include "common/transport/fabric/endpoint.hpp"
#include "librpmem/lanes/lazy_lanes.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace rpmem::initiator {

// With peers of protocol 0.1 all lanes are connected at once, in order; with newer ones the first
// is, and each of the others when it is used first.
class FabricLanes final : public LazyLanes {
public:
    // FIRST_TIME: for each of the lanes that it connects.
    static Result<std::unique_ptr<LazyLanes>> open(const LanesRequest& request,
                                                   const Settings& settings,
                                                   std::chrono::milliseconds first_time);
    ~FabricLanes() override;

    // Of the lanes that were connected by open().
    [[nodiscard]] const fabric::EventQueue* events() const override { return events_.get(); }

private:
    // How a lane is connected.
    struct ConnectContext {
        const fabric::EventQueue& events;
        std::chrono::milliseconds time;
    };

    FabricLanes(const LanesRequest& request, const Settings& settings)
        : LazyLanes(request, settings) {}
    Result<> set_up();
    Result<std::unique_ptr<FrameLane>> connect(unsigned index,
                                               std::chrono::milliseconds time) override;
    Result<std::unique_ptr<FrameLane>> connect_by(unsigned index, const ConnectContext& context);

    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::unique_ptr<fabric::EventQueue> events_; // of the first lanes
    fabric::MemoryRegion pool_region_;
    std::timed_mutex connecting_;
    // Of lanes that are connected later, which nobody watches.
    std::vector<std::unique_ptr<fabric::EventQueue>> own_events_;
};

} // namespace rpmem::initiator
