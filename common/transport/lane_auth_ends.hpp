// SPDX-License-Identifier: BSD-3-Clause
// The state machines of the lane handshake, one for each end. Their callers send and receive the
// bytes. The state machines use no sockets and no clock, and only libcrypto allocates memory. See
// docs/transport.md, "Who may connect".
//
//   target     | next      | when
//   first      | known     | the first message is valid
//   known      | third     | accept() has made the second message
//   third      | proven    | the third message is valid
//   any        | refused   | a message is invalid, or refuse() was called
//
//   initiator  | next      | when
//   securing   | second    | secured() was called: the TLS handshake is complete
//   second     | welcome   | the second message is valid, and the third has been made
//   welcome    | proven    | the first byte of a frame has arrived
//   any        | refused   | a refusal or an invalid message has arrived
#pragma once

#include "common/transport/lane_auth.hpp"

namespace rpmem::transport {

enum class ProofState {
    first, // target: waits for the first message
    known, // target: the first message was valid; the caller finds a slot, runs the TLS handshake
           // if TLS was agreed on, and then calls accept()
    securing, // initiator: the caller runs the TLS handshake and then calls secured()
    second,   // initiator: waits for the second message
    third,    // target: waits for the third message
    welcome,  // initiator: has sent the third message; waits for a frame or a refusal
    proven,   // the peer is authenticated; frames follow
    refused,  // refused() says why; the caller sends ProofStep::send and ends the connection
};

struct ProofStep {
    std::size_t taken = 0; // number of input bytes consumed; the rest belongs to TLS or to frames
    ByteView send{};       // bytes to send, valid until the next call
    ProofState state = ProofState::first;
};

// The common part of both ends.
class ProofEnd {
public:
    [[nodiscard]] ProofState state() const { return state_; }
    [[nodiscard]] const Refused& refused() const { return refused_; }

protected:
    ProofEnd(const ProofSession& session, ProofState state) : session_(session), state_(state) {}
    ProofStep enter(ProofState next, std::size_t taken = 0, ByteView send = {});

    const ProofSession& session_;
    ProofState state_;
    std::size_t filled_ = 0; // bytes received of the current message
    ProofFacts facts_;
    Refused refused_;
};

class TargetProof : public ProofEnd {
public:
    TargetProof(const ProofSession& session, wire::Provider transport)
        : ProofEnd(session, ProofState::first), transport_(transport) {}

    // Consumes bytes in the states `first` and `third`, and none in others. IN may be empty.
    ProofStep advance(ByteView in);
    // Only in the state `known`. EXPORTER is that of the TLS connection, if there is one.
    ProofStep accept(Random& random, const Exporter& exporter = {});
    // Refuses the connection: `busy`, `too_late`, `lane_in_use` and so on. Possible until the first
    // frame is sent, also in the state `proven`.
    ProofStep refuse(RefusalCode why, std::uint32_t number = 0);

    // The identity that the peer claims. In `known` the first message was authentic but may be a
    // replay. Only `proven` authenticates the peer.
    [[nodiscard]] const LaneIdentity& identity() const { return facts_.identity; }

private:
    ProofStep took_first(std::size_t taken);
    ProofStep took_third(std::size_t taken);
    ProofStep end(const Refused& why, std::size_t taken = 0);

    wire::Provider transport_;
    FirstMessage in_{}; // has room for every message of an initiator
    SecondMessage out_{};
};

class InitiatorProof : public ProofEnd {
public:
    // SECURED states whether the session uses TLS.
    InitiatorProof(const ProofSession& session, const LaneIdentity& identity, bool secured)
        : ProofEnd(session, secured ? ProofState::securing : ProofState::second) {
        facts_.identity = identity;
    }

    // Makes the first message. Call it once, before all others.
    ProofStep start(Random& random);
    // The TLS handshake is complete.
    ProofStep secured(const Exporter& exporter);
    // Consumes received bytes. In the state `securing`, IN has not been decrypted, and bytes of TLS
    // are not consumed. In later states, IN must be decrypted if the session uses TLS.
    ProofStep advance(ByteView in);

private:
    bool may_follow(ByteView begin) const;
    ProofStep took_message(std::size_t taken);
    ProofStep end(const Refused& why, std::size_t taken = 0);

    SecondMessage in_{};
    FirstMessage out_{};
};

} // namespace rpmem::transport
