// SPDX-License-Identifier: BSD-3-Clause
// Where the lanes of a session may find the daemon. They go to the host that the login reached,
// which need not be the one that has the target's name here.
#pragma once

#include "common/base/host_address.hpp"
#include "librpmem/session/ssh_destination.hpp"
#include "librpmem/session/target.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

struct LaneAddress {
    std::string host;    // a name or a number, for messages
    std::string number;  // where to connect; empty if the name has no address here
    std::string source;  // who says so, for messages
    std::string why_not; // it must not be tried; empty: it may be
};

// The facts that are known when the login is complete.
struct LoginFacts {
    std::string setting;               // RPMEM_ADDRESS; empty: not set
    std::string host;                  // of the target
    std::vector<std::string> resolved; // its addresses here; may be none
    std::string peer;                  // where the login went, if this process made it; else empty
    // The daemon's own, the one where ssh has arrived first; nothing: it does not tell.
    std::optional<std::vector<HostAddress>> told;
    bool uses_told = false;         // RPMEM_TOLD_ADDRESSES
    std::string why_not_resolved{}; // the error text if there are none
};

// How to ask what only other programs or machines know. Each call has a bound on its time.
struct Inquiries {
    std::function<std::optional<SshDestination>()> ssh; // where it goes: that takes a process
    std::function<Result<std::vector<std::string>>(const std::string& host)> resolver;
};

// RPMEM_ADDRESS alone, or all others, the best first. ssh is asked only if nothing else shows that
// the target's name is that of the host which ssh has reached.
std::vector<LaneAddress> lane_addresses(const LoginFacts& arrival, const Inquiries& ask);

} // namespace rpmem::initiator
