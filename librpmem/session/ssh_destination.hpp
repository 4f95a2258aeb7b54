// SPDX-License-Identifier: BSD-3-Clause
// The address to which ssh(1) connects for a target: its configuration may say more than the name.
#pragma once

#include "librpmem/session/target.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::initiator {

struct SshDestination {
    std::string host; // HostName of ssh_config(5), or the name itself
    bool is_proxied;  // by ProxyJump or ProxyCommand: it is another machine that looks up the host
};

// Runs "SSH -G ..." with the options of a login, for at most TIME and 2 s. Returns nothing if SSH
// is a program that does not know -G, or does not answer.
std::optional<SshDestination> ask_ssh(const std::string& ssh, const Target& target, bool force_ipv4,
                                      std::chrono::milliseconds time);

// OUTPUT of "ssh -G".
std::optional<SshDestination> read_destination(std::string_view output);

} // namespace rpmem::initiator
