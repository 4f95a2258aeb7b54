// SPDX-License-Identifier: BSD-3-Clause
// The command that ssh or libssh2 runs on the target.
#pragma once

#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <string>
#include <string_view>

namespace rpmem::initiator {

// How error texts describe a command on the target.
struct RemoteCommand {
    std::string target;  // [user@]host
    std::string command; // as in RPMEM_CMD
    std::string ssh;     // as in RPMEM_SSH; empty if libssh2 logs in
};
RemoteCommand remote_command(const Target& target, const std::string& command,
                             const Settings& settings);

// Returns COMMAND with the options that remove a pool.
std::string remove_command(const std::string& command, std::string_view pool_set, bool force,
                           bool remove_pool_set);

} // namespace rpmem::initiator
