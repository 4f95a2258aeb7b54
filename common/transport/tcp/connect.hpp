// SPDX-License-Identifier: BSD-3-Clause
// The initiator's way to a lane: connect, prove who we are, learn the credits.
#pragma once

#include "common/transport/proof.hpp"
#include "common/transport/tls/tls_context.hpp"
#include "common/transport/transport.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace rpmem::transport {

struct LaneAddress {
    std::string host; // a number, perhaps with a zone
    std::uint16_t port = 0;
};

struct ConnectOptions {
    LaneAddress address;
    LaneIdentity identity;
    ConnectLimits limits;
    std::chrono::milliseconds peer_timeout;
    const TlsContext* tls = nullptr; // null: the lane goes without
};

struct OpenedLane {
    std::unique_ptr<Connection> connection;
    wire::LaneCredits credits;
};

// ETIMEDOUT, ECONNREFUSED, EACCES (the proof), EPROTO (TLS), ECONNRESET (the session ended), or
// what the kernel says; the text tells how far it came.
[[nodiscard]] Result<OpenedLane> connect_lane(const ProofSession& session,
                                              const ConnectOptions& options, Random& random);

} // namespace rpmem::transport
