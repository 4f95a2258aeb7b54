// SPDX-License-Identifier: BSD-3-Clause
// The initiator's way to a lane over libfabric: connect, prove who we are, learn the credits.
#pragma once

#include "common/transport/fabric/fabric_connection.hpp"
#include "common/wire/lane_rules.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace rpmem::transport {

struct FabricTarget {
    const fabric::Domain& domain;
    const fabric::Provider& provider; // to the target
    const fabric::EventQueue& events;
    std::chrono::microseconds spin_time;
    FabricPool pool;
    std::size_t queue;       // operations under way
    std::size_t max_payload; // that was asked for
};

struct OpenedFabricLane {
    std::unique_ptr<FabricGroup> group; // outlives the connection
    std::unique_ptr<FabricConnection> connection;
    wire::LaneCredits credits{};
};

// Messages that a lane receives at most, for its queues.
inline constexpr std::uint32_t max_lane_frames = 64;
inline constexpr std::size_t max_lane_messages = max_lane_frames + wire::max_reads + 2;

// To a target of protocol 0.1, of which LANE is the next lane. WHERE: for messages.
[[nodiscard]] Result<OpenedFabricLane> connect_lane_of_0_1(std::uint32_t lane,
                                                           const FabricTarget& target,
                                                           const std::string& where,
                                                           const ConnectLimits& limits);

// READ_PIECE: bytes of `data` at most, of the payload that the target grants.
[[nodiscard]] Result<OpenedFabricLane>
connect_fabric_lane(const ProofSession& session, const LaneIdentity& identity,
                    const FabricTarget& target, const std::string& where,
                    const ConnectLimits& limits, std::size_t (*read_piece)(std::size_t));

} // namespace rpmem::transport
