// SPDX-License-Identifier: BSD-3-Clause
// A channel over libssh2 in this process. No process is started.
#pragma once

#include "librpmem/session/channel.hpp"
#include "librpmem/session/target.hpp"

namespace rpmem::initiator::ssh2 {

// An empty name stands for the default files.
struct Files {
    std::string key;
    std::string known_hosts;
};

// Logs in without asking the user, and starts COMMAND. Fails with ETIMEDOUT, with EACCES if the
// host key is unknown or no key of the user is accepted, with ECONNRESET if the connection is lost,
// and like connect(2).
Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Files& files,
                                               const Deadline& deadline);

} // namespace rpmem::initiator::ssh2
