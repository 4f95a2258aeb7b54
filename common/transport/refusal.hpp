// SPDX-License-Identifier: BSD-3-Clause
// Why the target refuses a lane.
#pragma once

#include <cstdint>
#include <string>

namespace rpmem::transport {

// The values are those on the wire. A later version may send other ones.
enum class RefusalCode : std::uint32_t {
    busy = 1,
    too_late = 2,
    no_such_session = 3,
    no_such_lane = 4,
    lane_in_use = 5,
    generation = 6,
    proof_wrong = 7,
    no_resources = 8,
    ending = 9,
    another_format = 10,
};

struct Refused {
    RefusalCode why = RefusalCode::another_format;
    // no_such_lane: the number of lanes of the session. no_resources: the errno value.
    // another_format: the newest format that the target knows. 0 for the others.
    std::uint32_t number = 0;
    bool by_peer = false; // true if the peer refused, false if this end did

    bool operator==(const Refused&) const = default;
};

// Returns a clause for an error text: who refuses, why, and what to do.
[[nodiscard]] std::string describe(const Refused& refused);

// Returns a positive errno value.
[[nodiscard]] int errno_of(RefusalCode why);

// Whether a retry may succeed. A genuine lane can be too late as well, if replayed first messages
// occupy the other slots.
[[nodiscard]] constexpr bool may_pass(RefusalCode why) {
    return why == RefusalCode::busy || why == RefusalCode::too_late;
}

} // namespace rpmem::transport
