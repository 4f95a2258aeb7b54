// What both ends of a session know of each other once the hello is answered. Both reach it by the
// same function, from the same two messages.
#pragma once

#include "common/wire/hello.hpp"

#include <cstdint>

namespace rpmem::wire {

// By default: that with a peer of protocol 0.1, which knows no hello.
struct Agreement {
    bool knows_hello = false;     // the provider may be tcp
    bool lane_frames = false;     // see capability_lane_frames; a peer of the hello needs it
    bool tls = false;             // see capability_tls
    bool medium_failure = false;  // see capability_medium_failure
    std::uint64_t conditions = 0; // of all_conditions, those that hold

    bool operator==(const Agreement&) const = default;
};

// What an initiator does not take of all that it knows.
struct Preferences {
    bool tls = true;
};
[[nodiscard]] HelloAnswer answer_to(const Hello& hello, const Preferences& preferences = {});

[[nodiscard]] Agreement negotiate(const Hello& hello, const HelloAnswer& answer);

} // namespace rpmem::wire
