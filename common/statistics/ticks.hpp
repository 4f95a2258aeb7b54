// SPDX-License-Identifier: BSD-3-Clause
// A clock that costs a few instructions. A reader of the counters computes the length of a tick
// from two Moments.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rpmem::statistics {

// The counter has a constant rate on every x86-64 processor since 2008 (invariant TSC) and on every
// AArch64 processor.
[[nodiscard]] inline std::uint64_t ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

struct Moment {
    std::uint64_t ticks;
    std::uint64_t nanoseconds; // CLOCK_MONOTONIC, which all processes share
};

[[nodiscard]] inline Moment moment() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return {ticks(), static_cast<std::uint64_t>(
                         std::chrono::duration_cast<std::chrono::nanoseconds>(since).count())};
}

// Returns 1 unless NOW is after THEN.
[[nodiscard]] inline double nanoseconds_of_tick(const Moment& then, const Moment& now) {
    if (now.ticks <= then.ticks || now.nanoseconds <= then.nanoseconds)
        return 1;
    return static_cast<double>(now.nanoseconds - then.nanoseconds) /
           static_cast<double>(now.ticks - then.ticks);
}

} // namespace rpmem::statistics
