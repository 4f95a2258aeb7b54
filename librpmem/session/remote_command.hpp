// SPDX-License-Identifier: BSD-3-Clause
// The arguments of ssh.
#pragma once

#include "librpmem/session/target.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator {

// SSH, its options, the login, and COMMAND as one argument. FORCE_IPV4: the lanes will use IPv4,
// so ssh must arrive at the same address.
std::vector<std::string> ssh_arguments(const std::string& ssh, const Target& target,
                                       bool force_ipv4, const std::string& command);

// For the remote shell, and for the grammar of forced commands.
std::string quoted_word(std::string_view word);

// COMMAND with the options that remove a pool. The name is quoted for the remote shell if needed.
std::string remove_command(const std::string& command, std::string_view pool_set, bool force,
                           bool remove_pool_set);

} // namespace rpmem::initiator
