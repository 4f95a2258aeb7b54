// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/lane_handshake.hpp"

#include <utility>

namespace rpmem::transport {

TargetHandshake::TargetHandshake(const ProofSession& session, std::uint32_t lane,
                                 const wire::LaneCredits& credits, std::function<void()> opened)
    : proof_(session, wire::Provider::verbs), lane_(lane), welcome_(wire::encode_welcome(credits)),
      opened_(std::move(opened)) {}

// A refused peer gets no further response. The server ends its connection after unproven_timeout.
Result<ByteView> TargetHandshake::take(ByteView message) {
    const ProofState before = proof_.state();
    if (before == ProofState::refused)
        return ByteView();
    ProofStep step = proof_.advance(message);
    if (step.state != ProofState::refused && (step.taken != message.size() || step.state == before))
        step = proof_.refuse(RefusalCode::another_format, newest_proof_format);
    if (step.state == ProofState::known)
        step = proof_.identity().lane == lane_ ? proof_.accept(random_)
                                               : proof_.refuse(RefusalCode::proof_wrong);
    if (step.state != ProofState::proven)
        return step.send;
    opened_();
    return ByteView(welcome_);
}

Failure InitiatorHandshake::refused() const {
    const Refused& why = proof_.refused();
    return fail(ErrorClass::link_lost, errno_of(why.why), "{}", describe(why));
}

Result<ByteView> InitiatorHandshake::start() {
    const ProofStep step = proof_.start(random_);
    return step.state == ProofState::refused ? refused() : Result<ByteView>(step.send);
}

Result<ByteView> InitiatorHandshake::take(ByteView message) {
    const ProofStep step = proof_.advance(message);
    if (step.state == ProofState::refused)
        return refused();
    if (step.state == ProofState::welcome && step.taken == message.size())
        return step.send;
    RPMEM_ASSIGN(credits_,
                 wire::decode_welcome(step.state == ProofState::proven ? message : ByteView()));
    return ByteView();
}

} // namespace rpmem::transport
