// SPDX-License-Identifier: BSD-3-Clause
// The arguments of ssh(1).
#pragma once

#include "librpmem/session/target.hpp"

#include <string>
#include <vector>

namespace rpmem::initiator {

// Returns SSH, its options, the login, and COMMAND as one argument. FORCE_IPV4 makes ssh use IPv4,
// because the lanes will use IPv4 and must reach the same address.
std::vector<std::string> ssh_arguments(const std::string& ssh, const Target& target,
                                       bool force_ipv4, const std::string& command);

} // namespace rpmem::initiator
