// SPDX-License-Identifier: BSD-3-Clause
// The log for signal handlers.
#pragma once

#include "rpmemd/confinement/seccomp.hpp"
#include "rpmemd/settings/configuration.hpp"

namespace rpmem::target {

// Opens a further descriptor of the log. A signal handler cannot use Log or syslog(3), because they
// take locks. PRIORITY is that of syslog(3). On failure the descriptor is empty.
[[nodiscard]] RefusalLog open_log_channel(const Configuration& configuration, int priority);

} // namespace rpmem::target
