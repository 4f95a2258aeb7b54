// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/lane_auth_ends.hpp"

#include <algorithm>

namespace rpmem::transport {
namespace {

// Copies from IN the bytes that MESSAGE still lacks, and returns their number. FILLED is the number
// of bytes that MESSAGE has.
std::size_t collect(std::span<std::byte> message, std::size_t& filled, ByteView in) {
    const std::size_t taken = std::min(in.size(), message.size() - filled);
    std::ranges::copy(in.first(taken), message.subspan(filled).begin());
    filled += taken;
    return taken;
}

Refused without_random_numbers(const Error& error) {
    return {.why = RefusalCode::no_resources, .number = static_cast<std::uint32_t>(error.code)};
}

} // namespace

ProofStep ProofEnd::enter(ProofState next, std::size_t taken, ByteView send) {
    if (state_ != next)
        filled_ = 0;
    state_ = next;
    return {.taken = taken, .send = send, .state = next};
}

ProofStep TargetProof::advance(ByteView in) {
    if (state_ != ProofState::first && state_ != ProofState::third)
        return enter(state_);
    const bool is_first = state_ == ProofState::first;
    const auto message = std::span(in_).first(is_first ? first_message_size : third_message_size);
    const std::size_t taken = collect(message, filled_, in);
    // A peer of another protocol is refused at its first wrong byte, so that it does not keep a
    // slot.
    if (is_first && !may_be(lane_magic, message.first(filled_)))
        return end({.why = RefusalCode::another_format, .number = newest_proof_format}, taken);
    if (filled_ < message.size())
        return enter(state_, taken);
    return is_first ? took_first(taken) : took_third(taken);
}

ProofStep TargetProof::took_first(std::size_t taken) {
    const auto facts = check_first(session_, transport_, in_);
    if (!facts)
        return end(facts.error(), taken);
    facts_ = *facts;
    return enter(ProofState::known, taken);
}

ProofStep TargetProof::accept(Random& random, const Exporter& exporter) {
    if (state_ != ProofState::known)
        return enter(state_);
    facts_.exporter = exporter;
    if (const auto filled = random.fill(facts_.target); !filled)
        return end(without_random_numbers(filled.error()));
    const auto message = make_second(session_, facts_);
    if (!message)
        return end(message.error());
    out_ = *message;
    return enter(ProofState::third, 0, out_);
}

ProofStep TargetProof::took_third(std::size_t taken) {
    const auto right = check_third(session_, facts_, ByteView(in_).first(third_message_size));
    return right ? enter(ProofState::proven, taken) : end(right.error(), taken);
}

ProofStep TargetProof::refuse(RefusalCode why, std::uint32_t number) {
    return end({.why = why, .number = number});
}

ProofStep TargetProof::end(const Refused& why, std::size_t taken) {
    refused_ = why;
    out_ = make_refusal(why.why, why.number);
    return enter(ProofState::refused, taken, out_);
}

ProofStep InitiatorProof::start(Random& random) {
    if (const auto filled = random.fill(facts_.initiator); !filled)
        return end(without_random_numbers(filled.error()));
    const auto message = make_first(session_, facts_.identity, facts_.initiator);
    if (!message)
        return end(message.error());
    out_ = *message;
    return enter(state_, 0, out_);
}

ProofStep InitiatorProof::secured(const Exporter& exporter) {
    if (state_ != ProofState::securing)
        return enter(state_);
    facts_.exporter = exporter;
    return enter(ProofState::second);
}

// Returns whether a message that begins with BEGIN may be valid in this state.
bool InitiatorProof::may_follow(ByteView begin) const {
    return may_be(refusal_magic, begin) ||
           (state_ == ProofState::second && may_be(lane_magic, begin));
}

ProofStep InitiatorProof::advance(ByteView in) {
    const bool others_may_follow = state_ == ProofState::securing || state_ == ProofState::welcome;
    if (in.empty() || (!others_may_follow && state_ != ProofState::second))
        return enter(state_);
    // No TLS record and no frame of a target begins with the first byte of a refusal.
    if (others_may_follow && filled_ == 0 && in.front() != bytes_of(refusal_magic).front())
        return enter(state_ == ProofState::welcome ? ProofState::proven : state_);
    const std::size_t taken = collect(in_, filled_, in);
    if (!may_follow(ByteView(in_).first(filled_)))
        return end({.why = RefusalCode::another_format}, taken);
    return filled_ == second_message_size ? took_message(taken) : enter(state_, taken);
}

ProofStep InitiatorProof::took_message(std::size_t taken) {
    const auto facts = check_second(session_, facts_, in_);
    if (!facts)
        return end(facts.error(), taken);
    const auto message = make_third(session_, *facts);
    if (!message)
        return end(message.error(), taken);
    std::ranges::copy(*message, out_.begin());
    return enter(ProofState::welcome, taken, ByteView(out_).first(third_message_size));
}

// An initiator has no message for a refusal. The target sees the end of the connection.
ProofStep InitiatorProof::end(const Refused& why, std::size_t taken) {
    refused_ = why;
    return enter(ProofState::refused, taken);
}

} // namespace rpmem::transport
