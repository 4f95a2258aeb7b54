// SPDX-License-Identifier: BSD-3-Clause
// Why a lane may not connect.
#pragma once

#include <cstdint>
#include <string>

namespace rpmem::transport {

// The numbers of the wire. A later peer may send others.
enum class Refusal : std::uint32_t {
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
    Refusal why = Refusal::another_format;
    // Of no_such_lane: how many lanes the session has. Of no_resources: the errno value. Of
    // another_format: the newest format that the target knows. Else 0.
    std::uint32_t number = 0;
    bool by_peer = false; // the peer said so; otherwise this end does not accept what came

    bool operator==(const Refused&) const = default;
};

// A clause for a message: who refuses whom, why, and what to do about it.
[[nodiscard]] std::string describe(const Refused& refused);

// A positive errno value.
[[nodiscard]] int errno_of(Refusal why);

// Whether the same lane may be let in a moment later. An honest lane is too late, as well, where
// strangers who repeat old first messages have all the other places.
[[nodiscard]] constexpr bool may_pass(Refusal why) {
    return why == Refusal::busy || why == Refusal::too_late;
}

} // namespace rpmem::transport
