// SPDX-License-Identifier: BSD-3-Clause
// The log, for handlers of signals.
#pragma once

#include "rpmemd/confinement/seccomp.hpp"
#include "rpmemd/settings/configuration.hpp"

namespace rpmem::target {

// A descriptor of our own: the logger and syslog(3) take locks, which a handler may not. PRIORITY:
// as syslog(3) has it. The file is -1 if there is none.
[[nodiscard]] RefusalLog open_log_channel(const Configuration& configuration, int priority);

} // namespace rpmem::target
