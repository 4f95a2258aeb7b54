// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/refusal.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

std::string resources_text(std::uint32_t number) {
    char buffer[128];
    // The number is the peer's: no errno value is larger than this.
    if (number == 0 || number > 4095)
        return "it has no memory or file descriptors left";
    return fmt::format("it has no memory or file descriptors left: {}",
                       ::strerror_r(static_cast<int>(number), buffer, sizeof(buffer)));
}

std::string reason_of(Refusal why, std::uint32_t number) {
    switch (why) {
    case Refusal::busy:
        return "too many connections are just being made to it; try again";
    case Refusal::too_late:
        return "the proof was not complete in time";
    case Refusal::no_such_session:
        return "another session answers at this address and port; see whether an address "
               "translator or an old daemon is in between";
    case Refusal::no_such_lane:
        return number == 0
                   ? std::string("the session has no lane of this number")
                   : fmt::format("the session has {} lanes, and none of this number", number);
    case Refusal::lane_in_use:
        return "the lane is connected already";
    case Refusal::generation:
        return "the connection is older or newer than what the control channel has announced";
    case Refusal::proof_wrong:
        return "the proof is wrong: its maker does not know the session's secret, has agreed on "
               "something else, or somebody alters what is sent";
    case Refusal::no_resources:
        return resources_text(number);
    case Refusal::ending:
        return "the session is ending";
    case Refusal::another_format:
        return number == 0
                   ? std::string("the bytes are not those of a lane that this version knows")
                   : fmt::format("it speaks formats of the proof up to {} only; update the older "
                                 "end",
                                 number);
    }
    return fmt::format("reason {}, which this version does not know; update this end",
                       static_cast<std::uint32_t>(why));
}

} // namespace

std::string describe(const Refused& refused) {
    return fmt::format("{}: {}",
                       refused.by_peer ? "the target refuses the lane"
                                       : "this end refuses what the peer sent",
                       reason_of(refused.why, refused.number));
}

int errno_of(Refusal why) { return why == Refusal::proof_wrong ? EACCES : ECONNREFUSED; }

} // namespace rpmem::transport
