// SPDX-License-Identifier: BSD-3-Clause
// The lanes of one connection, which owns them. They are connected at their first use or before.
// When one of them ends, the session is lost, see librpmem/connection/monitor.hpp.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/lane_auth.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/settings/settings.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

namespace rpmem::initiator {

struct LanesRequest {
    std::optional<fabric::ProviderKind> kind; // nothing for tcp
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    std::optional<fabric::RemoteAddress> remote; // of the target's pool, for direct access
    wire::PersistMethod method;
    unsigned lanes;
    WaitInterrupt interrupt;
    // The keys for the handshake of the lanes. Null for a target of protocol 0.1.
    std::shared_ptr<const transport::ProofSession> proof{};
    bool read_only = false;
    std::size_t inline_size = 0; // over libfabric: payload size that CREATE or OPEN asked for
    bool tls = false;            // only over tcp
    bool digests = false;        // digest frames are allowed, see wire::capability_compare
};

class ConnectionLanes {
public:
    ConnectionLanes(const LanesRequest& request, const Settings& settings)
        : request_(request), settings_(settings), lanes_(std::make_unique<Lane[]>(request.lanes)) {}
    virtual ~ConnectionLanes() = default;
    ConnectionLanes(const ConnectionLanes&) = delete;
    ConnectionLanes& operator=(const ConnectionLanes&) = delete;

    [[nodiscard]] unsigned lanes() const { return request_.lanes; }
    // Returns null if the lane is not connected.
    [[nodiscard]] FrameLane* lane(unsigned index) const {
        return lanes_[index].ready.load(std::memory_order_acquire);
    }
    // Returns the lane. Connects it first if necessary, which may take TIME. One thread at a time
    // may call it for a lane. Different lanes may be connected at once.
    Result<FrameLane*> use_lane(unsigned index, std::chrono::milliseconds time);
    // Closes the descriptors of the lanes in a child made by fork(2).
    void release_in_child();

    // Returns the events that report the end of lanes that are not in use. Returns null if a lane
    // notices its own end at its next use.
    [[nodiscard]] virtual const fabric::EventQueue* events() const { return nullptr; }

protected:
    virtual Result<std::unique_ptr<FrameLane>> connect(unsigned index,
                                                       std::chrono::milliseconds time) = 0;
    void put(unsigned index, std::unique_ptr<FrameLane> lane);
    // Destroys the lanes. A derived class whose members the lanes use calls it in its destructor.
    void end_all() { lanes_.reset(); }

    LanesRequest request_;
    Settings settings_;

private:
    struct Lane {
        std::unique_ptr<FrameLane> owned;
        std::atomic<FrameLane*> ready = nullptr; // for a child, which fork(2) makes at any moment
    };

    std::unique_ptr<Lane[]> lanes_;
};

} // namespace rpmem::initiator
