// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/refusal.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

std::string resources_text(std::uint32_t number) {
    char buffer[128];
    // The number comes from the peer. 4095 is the largest errno value of Linux.
    if (number == 0 || number > 4095)
        return "it has no memory or file descriptors left";
    return fmt::format("it has no memory or file descriptors left: {}",
                       ::strerror_r(static_cast<int>(number), buffer, sizeof(buffer)));
}

std::string reason_of(RefusalCode why, std::uint32_t number) {
    switch (why) {
    case RefusalCode::busy:
        return "too many connections are being established; try again";
    case RefusalCode::too_late:
        return "the handshake was not complete in time";
    case RefusalCode::no_such_session:
        return "another session answers at this address and port; check whether an address "
               "translator or an old daemon is in between";
    case RefusalCode::no_such_lane:
        return number == 0
                   ? std::string("the session has no lane with this number")
                   : fmt::format("the session has {} lanes, and none with this number", number);
    case RefusalCode::lane_in_use:
        return "the lane is connected already";
    case RefusalCode::generation:
        return "the generation of the connection is not the one of the control channel";
    case RefusalCode::proof_wrong:
        return "the proof is wrong: the peer does not know the session's secret or has agreed on "
               "other terms, or data were altered in transit";
    case RefusalCode::no_resources:
        return resources_text(number);
    case RefusalCode::ending:
        return "the session is ending";
    case RefusalCode::another_format:
        return number == 0
                   ? std::string("the bytes are not a handshake that this version supports")
                   : fmt::format("it supports formats of the handshake up to {}; update the older "
                                 "end",
                                 number);
    }
    return fmt::format("reason {}, which is unknown to this version; update this end",
                       static_cast<std::uint32_t>(why));
}

} // namespace

std::string describe(const Refused& refused) {
    return fmt::format("{}: {}",
                       refused.by_peer ? "the target refuses the lane"
                                       : "this end refuses what the peer sent",
                       reason_of(refused.why, refused.number));
}

int errno_of(RefusalCode why) { return why == RefusalCode::proof_wrong ? EACCES : ECONNREFUSED; }

} // namespace rpmem::transport
