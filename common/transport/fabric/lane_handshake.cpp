#include "common/transport/fabric/lane_handshake.hpp"

#include <utility>

namespace rpmem::transport {

TargetHandshake::TargetHandshake(const ProofSession& session, std::uint32_t lane,
                                 const wire::LaneCredits& credits, std::function<void()> opened)
    : proof_(session, wire::Provider::verbs), lane_(lane), welcome_(wire::encode_welcome(credits)),
      opened_(std::move(opened)) {}

// A refused peer gets no further answer; the server ends its connection after ten seconds.
LaneHandshake::Step TargetHandshake::take(Bytes message) {
    const ProofState before = proof_.state();
    if (before == ProofState::refused)
        return {};
    ProofStep step = proof_.advance(message);
    if (step.state != ProofState::refused && (step.taken != message.size() || step.state == before))
        step = proof_.refuse(Refusal::another_format, newest_proof_format);
    if (step.state == ProofState::known)
        step = proof_.identity().lane == lane_ ? proof_.accept(random_)
                                               : proof_.refuse(Refusal::proof_wrong);
    if (step.state != ProofState::proven)
        return {.send = step.send};
    opened_();
    return {.send = welcome_};
}

LaneHandshake::Step InitiatorHandshake::refused() const {
    return {.why = describe(proof_.refused()), .code = errno_of(proof_.refused().why)};
}

LaneHandshake::Step InitiatorHandshake::start() {
    const ProofStep step = proof_.start(random_);
    return step.state == ProofState::refused ? refused() : Step{.send = step.send};
}

LaneHandshake::Step InitiatorHandshake::take(Bytes message) {
    const ProofStep step = proof_.advance(message);
    if (step.state == ProofState::refused)
        return refused();
    if (step.state == ProofState::welcome && step.taken == message.size())
        return {.send = step.send};
    const auto credits = wire::decode_welcome(message);
    if (!credits)
        return {.why = credits.error().text, .code = credits.error().code};
    credits_ = *credits;
    return {};
}

} // namespace rpmem::transport
