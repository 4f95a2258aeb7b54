// SPDX-License-Identifier: BSD-3-Clause
// The handshake of a lane over libfabric: the messages that authenticate both ends, and the
// welcome. See common/transport/lane_auth_ends.hpp.
#pragma once

#include "common/transport/lane_auth_ends.hpp"
#include "common/wire/frame.hpp"

#include <array>
#include <functional>
#include <optional>

namespace rpmem::transport {

class LaneHandshake {
public:
    LaneHandshake() = default;
    virtual ~LaneHandshake() = default;
    LaneHandshake(const LaneHandshake&) = delete;
    LaneHandshake& operator=(const LaneHandshake&) = delete;

    // Whether to post the buffer of the next message again, because another message of the
    // handshake or, on a target, a frame follows it.
    [[nodiscard]] virtual bool expects_more() const = 0;
    // Processes MESSAGE, and returns the bytes to send, possibly none. They are valid until the
    // next call. On failure the connection must be closed.
    virtual Result<ByteView> take(ByteView message) = 0;
    // Whether the handshake is complete: frames follow.
    [[nodiscard]] virtual bool is_done() const = 0;
};

class TargetHandshake final : public LaneHandshake {
public:
    // LANE is the lane of the connection request. SESSION must outlive this object.
    TargetHandshake(const ProofSession& session, std::uint32_t lane,
                    const wire::LaneCredits& credits, std::function<void()> opened);

    [[nodiscard]] bool expects_more() const override { return true; }
    Result<ByteView> take(ByteView message) override;
    [[nodiscard]] bool is_done() const override { return proof_.state() == ProofState::proven; }

private:
    SystemRandom random_;
    TargetProof proof_;
    std::uint32_t lane_;
    std::array<std::byte, wire::welcome_size> welcome_;
    std::function<void()> opened_;
};

class InitiatorHandshake final : public LaneHandshake {
public:
    InitiatorHandshake(const ProofSession& session, const LaneIdentity& identity)
        : proof_(session, identity, false) {}

    // Returns the first message.
    Result<ByteView> start();
    [[nodiscard]] bool expects_more() const override {
        return proof_.state() == ProofState::second;
    }
    Result<ByteView> take(ByteView message) override;
    [[nodiscard]] bool is_done() const override { return credits_.has_value(); }
    [[nodiscard]] const wire::LaneCredits& credits() const { return *credits_; }

private:
    [[nodiscard]] Failure refused() const;

    SystemRandom random_;
    InitiatorProof proof_;
    std::optional<wire::LaneCredits> credits_;
};

} // namespace rpmem::transport
