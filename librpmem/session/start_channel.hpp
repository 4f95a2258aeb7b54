// SPDX-License-Identifier: BSD-3-Clause
// Which way a session logs in: the only place that knows all of them.
#pragma once

#include "librpmem/session/channel.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

namespace rpmem::initiator {

// Logs in to TARGET and starts COMMAND there. FORCE_IPV4: the lanes will use IPv4, so the login
// must arrive at the same address. A transport may return before the login is complete; what goes
// wrong after that is told by the channel.
Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Settings& settings,
                                               const Deadline& deadline);

} // namespace rpmem::initiator
