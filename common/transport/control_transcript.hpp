// What the control channel of a session carried before its lanes connect. Lanes prove that both
// ends mean the same by it.
#pragma once

#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <array>
#include <cstdint>

namespace rpmem::transport {

class ControlTranscript {
public:
    // SECRET: of the session, as HELLO brought it.
    [[nodiscard]] static Result<ControlTranscript> make(const wire::SessionSecret& secret,
                                                        Bytes hello, Bytes answer);
    ~ControlTranscript();
    ControlTranscript(ControlTranscript&&) = default;
    ControlTranscript& operator=(ControlTranscript&&) = default;

    // What asked for the pool, and what gave it.
    void add(Bytes request, Bytes response);
    // LANES: that the session has; only the target needs it.
    [[nodiscard]] Result<ProofSession> prove_by(std::uint32_t lanes) const;

private:
    ControlTranscript(Secret secret, Bytes hello, Bytes answer);

    Secret secret_;
    std::array<wire::Bytes, 4> said_;
};

} // namespace rpmem::transport
