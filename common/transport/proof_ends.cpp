#include "common/transport/proof_ends.hpp"

#include <algorithm>

namespace rpmem::transport {
namespace {

// Takes of IN what MESSAGE, of which FILLED bytes are there, still needs.
std::size_t collect(std::span<std::byte> message, std::size_t& filled, Bytes in) {
    const std::size_t taken = std::min(in.size(), message.size() - filled);
    std::ranges::copy(in.first(taken), message.subspan(filled).begin());
    filled += taken;
    return taken;
}

Refused without_random_numbers(const Error& error) {
    return {.why = Refusal::no_resources, .number = static_cast<std::uint32_t>(error.code)};
}

} // namespace

ProofStep TargetProof::advance(Bytes in) {
    if (state_ == ProofState::first) {
        const std::size_t taken = collect(in_, filled_, in);
        // Who speaks something else is told at once, and leaves its slot.
        if (!may_be(lane_magic, Bytes(in_).first(filled_)))
            return end({.why = Refusal::another_format, .number = newest_proof_format}, taken);
        if (filled_ == first_message_size)
            return took_first(taken);
        return {.taken = taken, .send = {}, .state = state_};
    }
    if (state_ == ProofState::third) {
        const std::size_t taken = collect(std::span(in_).first(third_message_size), filled_, in);
        if (filled_ == third_message_size)
            return took_third(taken);
        return {.taken = taken, .send = {}, .state = state_};
    }
    return {.taken = 0, .send = {}, .state = state_};
}

ProofStep TargetProof::took_first(std::size_t taken) {
    const auto facts = check_first(session_, transport_, in_);
    if (!facts)
        return end(facts.error(), taken);
    facts_ = *facts;
    state_ = ProofState::known;
    return {.taken = taken, .send = {}, .state = state_};
}

ProofStep TargetProof::accept(Random& random, const Exporter& exporter) {
    if (state_ != ProofState::known)
        return {.taken = 0, .send = {}, .state = state_};
    facts_.exporter = exporter;
    if (const auto filled = random.fill(facts_.target); !filled)
        return end(without_random_numbers(filled.error()), 0);
    const auto message = make_second(session_, facts_);
    if (!message)
        return end(message.error(), 0);
    out_ = *message;
    filled_ = 0;
    state_ = ProofState::third;
    return {.taken = 0, .send = out_, .state = state_};
}

ProofStep TargetProof::took_third(std::size_t taken) {
    if (const auto right = check_third(session_, facts_, Bytes(in_).first(third_message_size));
        !right)
        return end(right.error(), taken);
    state_ = ProofState::proven;
    return {.taken = taken, .send = {}, .state = state_};
}

ProofStep TargetProof::refuse(Refusal why, std::uint32_t number) {
    return end({.why = why, .number = number}, 0);
}

ProofStep TargetProof::end(const Refused& why, std::size_t taken) {
    refused_ = why;
    state_ = ProofState::refused;
    out_ = make_refusal(why.why, why.number);
    return {.taken = taken, .send = out_, .state = state_};
}

ProofStep InitiatorProof::start(Random& random) {
    if (const auto filled = random.fill(facts_.initiator); !filled)
        return end(without_random_numbers(filled.error()), 0);
    const auto message = make_first(session_, facts_.identity, facts_.initiator);
    if (!message)
        return end(message.error(), 0);
    out_ = *message;
    return {.taken = 0, .send = out_, .state = state_};
}

ProofStep InitiatorProof::secured(const Exporter& exporter) {
    if (state_ == ProofState::securing) {
        facts_.exporter = exporter;
        filled_ = 0;
        state_ = ProofState::second;
    }
    return {.taken = 0, .send = {}, .state = state_};
}

// Whether BEGIN may be that of a message which this state knows.
bool InitiatorProof::may_follow(Bytes begin) const {
    return may_be(refusal_magic, begin) ||
           (state_ == ProofState::second && may_be(lane_magic, begin));
}

ProofStep InitiatorProof::advance(Bytes in) {
    const bool others_may_follow = state_ == ProofState::securing || state_ == ProofState::welcome;
    if (in.empty() || (!others_may_follow && state_ != ProofState::second))
        return {.taken = 0, .send = {}, .state = state_};
    // No record of TLS and no frame of a target begins as a refusal does.
    if (others_may_follow && filled_ == 0 && in.front() != bytes_of(refusal_magic).front()) {
        if (state_ == ProofState::welcome)
            state_ = ProofState::proven;
        return {.taken = 0, .send = {}, .state = state_};
    }
    const std::size_t taken = collect(in_, filled_, in);
    if (!may_follow(Bytes(in_).first(filled_)))
        return end({.why = Refusal::another_format}, taken);
    if (filled_ == second_message_size)
        return took_message(taken);
    return {.taken = taken, .send = {}, .state = state_};
}

ProofStep InitiatorProof::took_message(std::size_t taken) {
    const auto facts = check_second(session_, facts_, in_);
    if (!facts)
        return end(facts.error(), taken);
    const auto message = make_third(session_, *facts);
    if (!message)
        return end(message.error(), taken);
    std::ranges::copy(*message, out_.begin());
    filled_ = 0;
    state_ = ProofState::welcome;
    return {.taken = taken, .send = Bytes(out_).first(third_message_size), .state = state_};
}

// The target is told by the end of the connection: an initiator has no refusals.
ProofStep InitiatorProof::end(const Refused& why, std::size_t taken) {
    refused_ = why;
    state_ = ProofState::refused;
    return {.taken = taken, .send = {}, .state = state_};
}

} // namespace rpmem::transport
