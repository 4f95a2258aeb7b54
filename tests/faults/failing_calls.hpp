// SPDX-License-Identifier: BSD-3-Clause
// The state that the tests share with the preloaded library of failing calls: a file that all their
// processes map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rpmem::faults {

enum class Side : std::uint32_t { client, daemon };

inline constexpr std::uint64_t max_calls = 65536; // maximum of calls whose places are recorded

inline std::uint64_t function_of(std::uint64_t site) { return site >> 32; }

struct FailingCalls {
    std::atomic<Side> side;            // the side whose calls count
    std::atomic<bool> counts;          // whether calls count at the moment
    std::atomic<std::uint64_t> count;  // calls so far
    std::atomic<std::uint64_t> number; // the number of the call that fails
    std::atomic<std::uint64_t> site;   // if not 0, the first call from this site fails instead
    std::atomic<bool> has_failed;
    // The function of the failed call, and its callers as OBJECT+OFFSET.
    static constexpr std::size_t max_callers = 16;
    char function[64];
    char callers[max_callers][64];
    // Hashes of the call stack of each call. The index is the number of the call minus 1. A place
    // is a hash of all callers. A site is a hash of code of the project only, and its upper half is
    // the function.
    std::atomic<bool> notes_places;
    std::uint64_t places[max_calls];
    std::uint64_t sites[max_calls];
};

// The environment variable of daemons with the path of the file.
inline constexpr const char* variable = "RPMEM_TEST_FAILING_CALLS";

} // namespace rpmem::faults

// A function of the preloaded library. From now on the calls of this process may count. With null,
// none of them counts.
extern "C" void rpmem_count_calls(rpmem::faults::FailingCalls* calls);
