// SPDX-License-Identifier: BSD-3-Clause
// Back-off: jitter, and the pauses of an initiator whose lane was refused for a reason that may
// pass, or whose connection ended before the welcome.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rpmem::transport {

inline constexpr std::chrono::milliseconds first_retry_pause{50};
inline constexpr std::chrono::milliseconds max_retry_pause{1000};

// Returns a value between half of PAUSE and PAUSE, which the 32 random bits RANDOM choose.
[[nodiscard]] constexpr std::chrono::microseconds with_jitter(std::chrono::microseconds pause,
                                                              std::uint32_t random) {
    const std::chrono::microseconds half = pause / 2;
    return half +
           std::chrono::microseconds(static_cast<std::uint64_t>(half.count()) * random >> 32);
}

// Returns the pause after TRIES failed attempts, at least 1. Without jitter, lanes that were
// refused together retry together, and each round admits at most max_known of them. With 1024 lanes
// over a link of 20 ms that took 9 s.
[[nodiscard]] constexpr std::chrono::microseconds retry_pause(unsigned tries,
                                                              std::uint32_t random) {
    const unsigned doublings = std::min(tries > 0 ? tries - 1 : 0, 5U);
    return with_jitter(std::min(max_retry_pause, first_retry_pause * (1U << doublings)), random);
}

} // namespace rpmem::transport
