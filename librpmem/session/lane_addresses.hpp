// SPDX-License-Identifier: BSD-3-Clause
// The addresses at which the lanes of a session may reach the daemon. Lanes must connect to the
// host that the login has reached. With ssh_config(5), that may be another host than the one that
// has the target's name on this machine.
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
    std::string host;    // name or numeric address, for messages
    std::string number;  // numeric address; empty if the name cannot be resolved
    std::string source;  // where the address comes from, for messages
    std::string why_not; // why it must not be tried; empty if it may be
};

// Facts that are known after the login.
struct LoginFacts {
    std::string setting;               // RPMEM_ADDRESS; empty if it is not set
    std::string host;                  // of the target
    std::vector<std::string> resolved; // numeric addresses of host on this machine, if any
    std::string peer;                  // address of the login; empty if only ssh(1) knows it
    // Addresses that the daemon has sent. The first is the one at which ssh arrived. Nothing if the
    // daemon does not send any.
    std::optional<std::vector<HostAddress>> advertised;
    bool uses_advertised = false;   // RPMEM_TOLD_ADDRESSES
    std::string why_not_resolved{}; // error text if resolved is empty
};

// Functions that ask other programs or machines, each for a bounded time.
struct Inquiries {
    std::function<std::optional<SshDestination>()> ssh; // see ask_ssh(); starts a process
    std::function<Result<std::vector<std::string>>(const std::string& host)> resolver;
};

// Returns RPMEM_ADDRESS alone if it is set. Otherwise returns all other addresses, the best first.
// Calls ASK.ssh only if nothing else shows that the target's name belongs to the host that ssh has
// reached.
std::vector<LaneAddress> lane_addresses(const LoginFacts& arrival, const Inquiries& ask);

} // namespace rpmem::initiator
