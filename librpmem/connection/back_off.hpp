// SPDX-License-Identifier: BSD-3-Clause
// The pauses between two attempts to reach a target.
#pragma once

#include "common/transport/crypto.hpp"
#include "common/transport/retry.hpp"

#include <chrono>
#include <cstdint>
#include <span>

namespace rpmem::initiator {

// The first pause is RPMEM_RECONNECT_DELAY. It doubles up to this one.
inline constexpr std::chrono::milliseconds max_pause(5000);

// Initiators that have lost a target together must not all log in at the same moment.
inline std::chrono::microseconds with_jitter(std::chrono::milliseconds pause) {
    std::uint32_t bits = 0;
    static_cast<void>(transport::SystemRandom().fill(std::as_writable_bytes(std::span(&bits, 1))));
    return transport::with_jitter(pause, bits);
}

} // namespace rpmem::initiator
