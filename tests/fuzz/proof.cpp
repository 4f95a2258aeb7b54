// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the messages of a peer that does not know the secret of a session, at either end. An end
// that accepts such a proof, or refuses it without a text and an errno value, fails.
#include "common/transport/lane_auth_ends.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;
using transport::ProofState;

constexpr std::uint32_t lanes = 4;

const transport::ProofSession& session() {
    static const transport::ProofSession made{
        .keys = transport::derive_keys(
                    transport::Secret::copy_of(std::array<std::byte, 32>{std::byte{1}}).value())
                    .value(),
        .transcript = {},
        .lanes = lanes};
    return made;
}

// Advances an end with the bytes in pieces until it decides.
template <typename End>
void run(End& end, const fuzz::Bytes& bytes, std::size_t step) {
    for (std::size_t at = 0; at < bytes.size() && end.state() != ProofState::refused;) {
        const auto part = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
        const auto done = end.advance(part);
        require(done.taken <= part.size(), "an end takes no more than there is");
        require(done.state != ProofState::proven && done.state != ProofState::known,
                "nobody proves to know a secret that he does not know");
        if (done.taken == 0)
            break;
        at += done.taken;
    }
    if (end.state() == ProofState::refused) {
        require(!transport::describe(end.refused()).empty(), "a refusal has words");
        require(transport::errno_of(end.refused().why) > 0, "a refusal has an errno value");
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto choice = input.take_value<std::uint8_t>();
    const fuzz::Bytes bytes = input.take(input.left());
    const std::size_t step = 1 + choice / 4;
    if ((choice & 1) == 0) {
        transport::TargetProof target(session(), wire::Provider::tcp);
        run(target, bytes, step);
    } else {
        transport::SystemRandom random;
        transport::InitiatorProof initiator(session(), {.lane = 1}, (choice & 2) != 0);
        static_cast<void>(initiator.start(random));
        run(initiator, bytes, step);
    }
    return 0;
}
