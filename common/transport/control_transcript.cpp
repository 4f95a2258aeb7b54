#include "common/transport/control_transcript.hpp"

#include <cstring>

namespace rpmem::transport {
namespace {

wire::Bytes copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

} // namespace

Result<ControlTranscript> ControlTranscript::make(const wire::SessionSecret& secret, Bytes hello,
                                                  Bytes answer) {
    RPMEM_ASSIGN(auto kept, Secret::copy_of(secret));
    return ControlTranscript(std::move(kept), hello, answer);
}

ControlTranscript::ControlTranscript(Secret secret, Bytes hello, Bytes answer)
    : secret_(std::move(secret)), said_{copy_of(hello), copy_of(answer)} {}

// The hello has the secret.
ControlTranscript::~ControlTranscript() {
    if (!said_[0].empty())
        ::explicit_bzero(said_[0].data(), said_[0].size());
}

void ControlTranscript::add(Bytes request, Bytes response) {
    said_[2] = copy_of(request);
    said_[3] = copy_of(response);
}

Result<ProofSession> ControlTranscript::prove_by(std::uint32_t lanes) const {
    RPMEM_ASSIGN(auto keys, derive_keys(secret_));
    RPMEM_ASSIGN(const auto transcript, transcript_of(said_[0], said_[1], said_[2], said_[3]));
    return ProofSession{.keys = std::move(keys), .transcript = transcript, .lanes = lanes};
}

} // namespace rpmem::transport
