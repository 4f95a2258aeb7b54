// SPDX-License-Identifier: BSD-3-Clause
// A channel through libssh2, within this process: nothing is forked or spawned.
#pragma once

#include "librpmem/session/channel.hpp"
#include "librpmem/session/target.hpp"

namespace rpmem::initiator::ssh2 {

// Empty: the usual ones.
struct Files {
    std::string key;
    std::string known_hosts;
};

// Logs in, as a user who is not asked anything, and starts COMMAND. ETIMEDOUT, EACCES (the host key
// is not known, or no key was accepted), or what connect(2) says.
Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Files& files,
                                               const Deadline& deadline);

} // namespace rpmem::initiator::ssh2
