// SPDX-License-Identifier: BSD-3-Clause
// Selects the ssh transport of a session.
#pragma once

#include "librpmem/session/channel.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

namespace rpmem::initiator {

// Logs in to TARGET and starts COMMAND there. FORCE_IPV4 makes the login use IPv4, because the
// lanes will use IPv4 and must reach the same address. ssh(1) may still be logging in on return.
// Then the channel reports later failures.
Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Settings& settings,
                                               const Deadline& deadline);

} // namespace rpmem::initiator
