// SPDX-License-Identifier: BSD-3-Clause
// Both ends of one connection while the lane proves itself. They decide, and their callers move the
// bytes: no sockets, no clock, no allocation. See docs/transport.md, "Who may connect".
//
//   target     | next      | when
//   first      | known     | the first message is right
//   known      | third     | accept() was called, and has made the second message
//   third      | proven    | the third message is right
//   each       | refused   | a message is wrong, or refuse() was called
//
//   initiator  | next      | when
//   securing   | second    | secured() was called: TLS has begun
//   second     | welcome   | the second message is right, and the third has been made
//   welcome    | proven    | the first byte of a frame has come
//   each       | refused   | a refusal has come, or what is none of these messages
#pragma once

#include "common/transport/proof.hpp"

namespace rpmem::transport {

enum class ProofState {
    first,    // target: waits for the first message
    known,    // target: it was right, and the caller finds a slot, lets TLS begin if it is agreed
              // on, and then says accept()
    securing, // initiator: TLS begins, unless the target refuses; then the caller says secured()
    second,   // initiator: waits for the second message
    third,    // target: waits for the third message
    welcome,  // initiator: has proven itself; waits for the first byte of a frame, or a refusal
    proven,   // the peer is who it should be; frames follow
    refused,  // refused() tells why; send what is to be sent, then end the connection
};

struct ProofStep {
    std::size_t taken = 0; // of the bytes that came in; those behind are TLS's or frames
    ByteView send{};       // valid until the next call
    ProofState state = ProofState::first;
};

// The part that both ends have.
class ProofEnd {
public:
    [[nodiscard]] ProofState state() const { return state_; }
    [[nodiscard]] const Refused& refused() const { return refused_; }

protected:
    ProofEnd(const ProofSession& session, ProofState state) : session_(session), state_(state) {}
    ProofStep enter(ProofState next, std::size_t taken = 0, ByteView send = {});

    const ProofSession& session_;
    ProofState state_;
    std::size_t filled_ = 0; // bytes of the message that is coming
    ProofFacts facts_;
    Refused refused_;
};

class TargetProof : public ProofEnd {
public:
    TargetProof(const ProofSession& session, wire::Provider transport)
        : ProofEnd(session, ProofState::first), transport_(transport) {}

    // Takes bytes in the states `first` and `third`, and none in others. It may be called with
    // none.
    ProofStep advance(ByteView in);
    // In the state `known`. EXPORTER: of this connection's TLS, which has begun.
    ProofStep accept(Random& random, const Exporter& exporter = {});
    // The caller does not let this connection in: `busy`, `too_late`, `lane_in_use` and so on. Even
    // after `proven`, until a frame was sent.
    ProofStep refuse(Refusal why, std::uint32_t number = 0);

    // Who the peer says it is: from `known` on it knows the lane key, or repeats a message of one
    // that does; the same one is there from `proven` on only.
    [[nodiscard]] const LaneIdentity& identity() const { return facts_.identity; }

private:
    ProofStep took_first(std::size_t taken);
    ProofStep took_third(std::size_t taken);
    ProofStep end(const Refused& why, std::size_t taken = 0);

    wire::Provider transport_;
    FirstMessage in_{}; // the longest one that comes
    SecondMessage out_{};
};

class InitiatorProof : public ProofEnd {
public:
    // SECURED: this session uses TLS.
    InitiatorProof(const ProofSession& session, const LaneIdentity& identity, bool secured)
        : ProofEnd(session, secured ? ProofState::securing : ProofState::second) {
        facts_.identity = identity;
    }

    // Once, before all else.
    ProofStep start(Random& random);
    // TLS has begun.
    ProofStep secured(const Exporter& exporter);
    // Bytes that came: in the state `securing` before TLS sees them, of which those of TLS are
    // not taken; later those that came out of TLS, if there is any.
    ProofStep advance(ByteView in);

private:
    bool may_follow(ByteView begin) const;
    ProofStep took_message(std::size_t taken);
    ProofStep end(const Refused& why, std::size_t taken = 0);

    SecondMessage in_{};
    FirstMessage out_{};
};

} // namespace rpmem::transport
