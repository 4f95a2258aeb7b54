// SPDX-License-Identifier: BSD-3-Clause
// The arguments of ssh(1), and the remote commands.
#pragma once

#include "librpmem/session/target.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator {

// Returns SSH, its options, the login, and COMMAND as one argument. FORCE_IPV4 makes ssh use IPv4,
// because the lanes will use IPv4 and must reach the same address.
std::vector<std::string> ssh_arguments(const std::string& ssh, const Target& target,
                                       bool force_ipv4, const std::string& command);

// Returns COMMAND with the options that remove a pool.
std::string remove_command(const std::string& command, std::string_view pool_set, bool force,
                           bool remove_pool_set);

} // namespace rpmem::initiator
