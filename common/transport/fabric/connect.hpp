// SPDX-License-Identifier: BSD-3-Clause
// Connects a lane of an initiator over libfabric: connection, handshake, welcome.
#pragma once

#include "common/transport/fabric/fabric_connection.hpp"
#include "common/wire/lane_rules.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace rpmem::transport {

struct FabricTarget {
    const fabric::Domain& domain;
    const fabric::Provider& provider; // the provider that reaches the target
    const fabric::EventQueue& events;
    std::chrono::microseconds spin_time;
    FabricPool pool;
    std::size_t queue;       // maximum number of operations in progress
    std::size_t max_payload; // payload size that CREATE or OPEN asked for
};

struct OpenedFabricLane {
    std::unique_ptr<FabricGroup> group; // must outlive the connection
    std::unique_ptr<FabricConnection> connection;
    wire::LaneCredits credits{};
};

// Maximum number of frames that the credits of a lane allow, and of receive buffers of the lane.
// The receive queue has room for all these buffers.
inline constexpr std::uint32_t max_lane_frames = 64;
inline constexpr std::size_t max_lane_messages = max_lane_frames + wire::max_reads + 2;

// Connects lane number LANE to a target of protocol 0.1. Lanes must be connected in order. WHERE
// names the connection in error texts.
[[nodiscard]] Result<OpenedFabricLane> connect_lane_of_0_1(std::uint32_t lane,
                                                           const FabricTarget& target,
                                                           const std::string& where,
                                                           const ConnectLimits& limits);

// Connects a lane that carries frames, unlike a lane of protocol 0.1. READ_PIECE takes the payload
// size that the target grants, and returns the maximum payload of a `data` frame.
[[nodiscard]] Result<OpenedFabricLane>
connect_fabric_lane(const ProofSession& session, const LaneIdentity& identity,
                    const FabricTarget& target, const std::string& where,
                    const ConnectLimits& limits, std::size_t (*read_piece)(std::size_t));

} // namespace rpmem::transport
