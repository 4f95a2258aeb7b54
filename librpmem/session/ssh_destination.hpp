// SPDX-License-Identifier: BSD-3-Clause
// The host that ssh(1) connects to for a target. ssh_config(5) may set another one than the name.
#pragma once

#include "librpmem/session/target.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::initiator {

struct SshDestination {
    std::string host; // HostName of ssh_config(5), or the name itself
    bool is_proxied;  // by ProxyJump or ProxyCommand, so another machine resolves the host
};

// Runs "SSH -G" with the options of a login, for TIME or 2 s, whichever is shorter. Returns nothing
// if SSH does not support -G, or does not end in time.
std::optional<SshDestination> ask_ssh(const std::string& ssh, const Target& target, bool force_ipv4,
                                      std::chrono::milliseconds time);

// Parses OUTPUT of "ssh -G". Returns nothing if it has no valid hostname.
std::optional<SshDestination> read_destination(std::string_view output);

} // namespace rpmem::initiator
