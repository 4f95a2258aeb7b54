// SPDX-License-Identifier: BSD-3-Clause
// Connects a lane of an initiator over TCP: connection, handshake, welcome.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "common/transport/tls/tls_context.hpp"
#include "common/transport/transport.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace rpmem::transport {

struct LaneAddress {
    std::string host; // a numeric address, possibly with a zone
    std::uint16_t port = 0;
};

struct ConnectOptions {
    LaneAddress address;
    LaneIdentity identity;
    ConnectLimits limits;
    std::chrono::milliseconds peer_timeout;
    const TlsContext* tls = nullptr; // null for a lane without TLS
};

struct OpenedLane {
    std::unique_ptr<LaneConnection> connection;
    wire::LaneCredits credits;
};

// Fails with ETIMEDOUT, EACCES (the proof is wrong), ECONNREFUSED (any other refusal, or nobody
// listens), EPROTO (TLS), EBADMSG (the welcome is malformed), ECONNRESET (the session or the
// connection ended), EINVAL (the address is not numeric), or an error of the kernel. The text names
// the step that failed.
[[nodiscard]] Result<OpenedLane> connect_lane(const ProofSession& session,
                                              const ConnectOptions& options, Random& random);

} // namespace rpmem::transport
