// SPDX-License-Identifier: BSD-3-Clause
// What the tests and the library that they preload have in common: a file that each of their
// processes maps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rpmem::faults {

enum class Side : std::uint32_t { client, daemon };

inline constexpr std::uint64_t max_calls = 65536; // of a run, whose places are noted

inline std::uint64_t function_of(std::uint64_t site) { return site >> 32; }

struct FailingCalls {
    std::atomic<Side> side;            // whose calls count
    std::atomic<bool> counts;          // at the moment
    std::atomic<std::uint64_t> count;  // of calls so far
    std::atomic<std::uint64_t> number; // of the call that fails
    std::atomic<std::uint64_t> site; // or the first one from there fails; 0: that is not asked for
    std::atomic<bool> has_failed;
    // Of the call that failed: its function, and who called it, as OBJECT+OFFSET.
    static constexpr std::size_t max_callers = 16;
    char function[64];
    char callers[max_callers][64];
    // Where each call came from, by its number less 1; equal values are equal places. A site leaves
    // out who has called the library, and its upper half is the function.
    std::atomic<bool> notes_places;
    std::uint64_t places[max_calls];
    std::uint64_t sites[max_calls];
};

// The file, in the environment of daemons.
inline constexpr const char* variable = "RPMEM_TEST_FAILING_CALLS";

} // namespace rpmem::faults

// Of the preloaded library: from now on the calls of this process may count. Fails nothing if null.
extern "C" void rpmem_count_calls(rpmem::faults::FailingCalls* calls);
