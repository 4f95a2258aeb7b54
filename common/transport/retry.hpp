// SPDX-License-Identifier: BSD-3-Clause
// When an initiator tries again to connect a lane that was refused as busy, or whose connection
// ended before its welcome.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rpmem::transport {

inline constexpr std::chrono::milliseconds first_retry_pause{50};
inline constexpr std::chrono::milliseconds max_retry_pause{1000};

// After TRIES in vain, from 1 on. RANDOM: any 32 random bits, which choose between half of the
// pause and all of it. Without them, lanes that were refused together come back together, and only
// one round of known slots gets in each time: 1024 lanes over 20 ms of distance took 9 s that way.
[[nodiscard]] constexpr std::chrono::microseconds retry_pause(unsigned tries,
                                                              std::uint32_t random) {
    const unsigned doublings = std::min(tries > 0 ? tries - 1 : 0, 5U);
    const std::chrono::microseconds half =
        std::min(max_retry_pause, first_retry_pause * (1U << doublings)) / 2;
    return half +
           std::chrono::microseconds(static_cast<std::uint64_t>(half.count()) * random >> 32);
}

} // namespace rpmem::transport
