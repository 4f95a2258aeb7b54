// SPDX-License-Identifier: BSD-3-Clause
// Lanes over libfabric. A connection with the token of the session is passed to a worker, and
// performs the handshake there. A peer of protocol 0.1 has no token and no handshake: its
// connections become lanes 0, 1 and so on in the order in which they arrive.
#pragma once

#include "common/transport/fabric/fabric_connection.hpp"
#include "rpmemd/lanes/fabric_listener.hpp"
#include "rpmemd/lanes/lane_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

class FabricLaneServer final : public LaneServer {
public:
    // Registers POOL before it listens. The memory must outlive the server.
    static Result<std::unique_ptr<FabricLaneServer>> start(const FabricServerOptions& options,
                                                           std::span<std::byte> pool,
                                                           const Medium& medium, Log log);
    ~FabricLaneServer() override;

    [[nodiscard]] std::uint16_t port() const override { return listener_->port(); }
    [[nodiscard]] unsigned lanes() const override { return lane_count_; }
    [[nodiscard]] std::string describe() const override {
        return fabric::describe(listener_->provider());
    }
    [[nodiscard]] std::uint64_t key() const override {
        return listener_->region() ? listener_->region()->key() : 0;
    }
    [[nodiscard]] std::uint64_t remote_base() const override {
        return listener_->region() ? listener_->region()->remote_base() : 0;
    }
    [[nodiscard]] bool is_direct() const override { return listener_->region().has_value(); }

    void end(const std::string& why) override;
    // The peer's device may write before the event queue reports that its lane is connected.
    [[nodiscard]] bool was_reached() const override;
    // An initiator connects further lanes on first use. One of protocol 0.1 connects all at once.
    [[nodiscard]] bool ready() const override { return connected_ >= (is_0_1_ ? lane_count_ : 1U); }

    [[nodiscard]] int events_fd() const override { return listener_->events().fd(); }
    Result<> handle_events() override;
    Result<> wait(std::span<pollfd> fds, std::chrono::milliseconds limit) override;

private:
    using Clock = std::chrono::steady_clock;
    // The last connection of a lane. `state` is null before the first one. Otherwise it has the
    // phase of the connection: accept() begins it, the worker opens and ends the connection, and
    // lose() marks it as lost.
    struct LaneSlot {
        fid_t endpoint = nullptr;
        std::shared_ptr<transport::FabricState> state;
        Clock::time_point deadline; // of the handshake
        bool is_reported = false;   // the event queue has reported the connection
        [[nodiscard]] bool is(transport::FabricPhase stage) const {
            return state && state->phase() == stage;
        }
    };
    FabricLaneServer(const FabricServerOptions& options, std::span<std::byte> pool,
                     const Medium& medium, Event failed, Log log)
        : LaneServer({pool, medium, options.read_only, options.digests}, std::move(failed),
                     std::move(log)),
          is_0_1_(options.is_0_1), max_unproven_(options.max_unproven),
          unproven_timeout_(options.unproven_timeout) {}
    Result<> set_up(const FabricServerOptions& options);
    Result<> make_workers(const FabricServerOptions& options);
    void handle(fabric::ConnectionEvent event);
    void accept(fabric::ConnectionEvent request);
    // Returns the lane for which a connection is requested, or why the request is refused.
    [[nodiscard]] Result<unsigned> lane_of(const fabric::ConnectionEvent& request) const;
    Result<std::unique_ptr<transport::FabricConnection>> open_connection(unsigned lane,
                                                                         fi_info* info);
    void end_unproven();
    void note_connected(LaneSlot& slot);
    void lose(LaneSlot& slot, unsigned lane);

    bool is_0_1_; // protocol of the peer
    std::size_t max_unproven_;
    std::chrono::milliseconds unproven_timeout_;
    std::unique_ptr<FabricListener> listener_;
    unsigned lane_count_ = 0;
    wire::LaneCredits credits_;
    std::size_t receives_ = 0; // receive buffers of a lane
    unsigned accepted_ = 0;    // connections so far; the next lane of a peer of protocol 0.1
    std::vector<LaneSlot> slots_;
    std::vector<transport::FabricGroup*> groups_; // one for each worker
};

} // namespace rpmem::target
