// SPDX-License-Identifier: BSD-3-Clause
// The first messages of a connection over libfabric: those by which both ends prove that they
// belong to the session, and the welcome. See common/transport/proof_ends.hpp.
#pragma once

#include "common/transport/proof_ends.hpp"
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

    // A message comes behind the next one, before frames do.
    [[nodiscard]] virtual bool expects_more() const = 0;
    // What to send, which may be nothing, and is valid until the next call. Failure: the connection
    // is of no use.
    virtual Result<ByteView> take(ByteView message) = 0;
    // The peer sends frames from now on.
    [[nodiscard]] virtual bool is_done() const = 0;
};

class TargetHandshake final : public LaneHandshake {
public:
    // LANE: as the connection request has it. SESSION must stay.
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

    // The first message.
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
