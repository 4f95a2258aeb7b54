// SPDX-License-Identifier: BSD-3-Clause
// The messages of the control channel that the lane handshake authenticates.
#pragma once

#include "common/transport/crypto.hpp"
#include "common/transport/lane_keys.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <array>
#include <cstdint>

namespace rpmem::transport {

using Transcript = Digest;

// Hashes the four messages that both ends have exchanged on the control channel. Each message
// contains its own size, so different messages never give the same input to the hash.
[[nodiscard]] Result<Transcript> transcript_of(ByteView hello, ByteView answer, ByteView request,
                                               ByteView response);

// The keys and facts that all lanes of a session use in their handshake. It must be neither moved
// nor destroyed during a handshake.
struct ProofSession {
    SessionKeys keys;
    Transcript transcript;
    std::uint32_t lanes = 0;      // only used by the target
    std::uint64_t generation = 0; // see wire::LoginRequest
};

// The messages of the control channel before the lanes connect. The handshake of a lane
// authenticates them, so it fails unless both ends have seen the same ones.
class ControlTranscript {
public:
    // SECRET is the session secret in HELLO.
    [[nodiscard]] static Result<ControlTranscript> make(const wire::SessionSecret& secret,
                                                        ByteView hello, ByteView answer);
    ~ControlTranscript();
    ControlTranscript(ControlTranscript&&) = default;
    ControlTranscript& operator=(ControlTranscript&&) = default;

    // Adds CREATE or OPEN and its response.
    void add(ByteView request, ByteView response);
    // Returns what lanes need for their handshake. LANES is the number of lanes; only the target
    // uses it.
    [[nodiscard]] Result<ProofSession> prove_by(std::uint32_t lanes,
                                                std::uint64_t generation = 0) const;
    // Returns the takeover key of this session, which must be of generation 0.
    [[nodiscard]] Result<Secret> takeover_key() const;

private:
    ControlTranscript(Secret secret, ByteView hello, ByteView answer);

    Secret secret_;
    std::array<wire::Bytes, 4> said_;
};

} // namespace rpmem::transport
