// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/control_transcript.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace rpmem::transport {
namespace {

wire::Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

} // namespace

Result<Transcript> transcript_of(ByteView hello, ByteView answer, ByteView request,
                                 ByteView response) {
    Transcript transcript;
    if (!sha256({hello, answer, request, response}, transcript))
        return fail_errno(ErrorClass::resource_limit, ENOMEM,
                          "libcrypto cannot hash the messages of the handshake");
    return transcript;
}

Result<ControlTranscript> ControlTranscript::make(const wire::SessionSecret& secret, ByteView hello,
                                                  ByteView answer) {
    RPMEM_ASSIGN(auto kept, Secret::copy_of(secret));
    return ControlTranscript(std::move(kept), hello, answer);
}

ControlTranscript::ControlTranscript(Secret secret, ByteView hello, ByteView answer)
    : secret_(std::move(secret)), said_{copy_of(hello), copy_of(answer)} {}

// The hello contains the secret.
ControlTranscript::~ControlTranscript() {
    if (!said_[0].empty())
        ::explicit_bzero(said_[0].data(), said_[0].size());
}

void ControlTranscript::add(ByteView request, ByteView response) {
    said_[2] = copy_of(request);
    said_[3] = copy_of(response);
}

Result<ProofSession> ControlTranscript::prove_by(std::uint32_t lanes,
                                                 std::uint64_t generation) const {
    RPMEM_ASSIGN(auto keys, derive_keys(secret_));
    RPMEM_ASSIGN(const auto transcript, transcript_of(said_[0], said_[1], said_[2], said_[3]));
    return ProofSession{.keys = std::move(keys),
                        .transcript = transcript,
                        .lanes = lanes,
                        .generation = generation};
}

Result<Secret> ControlTranscript::takeover_key() const {
    RPMEM_ASSIGN(auto keys, derive_keys(secret_));
    return std::move(keys.takeover);
}

} // namespace rpmem::transport
