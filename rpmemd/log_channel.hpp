// The log, for handlers of signals.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

struct LogChannel {
    UniqueFd file;      // -1: there is none
    std::string prefix; // of each line
};

// A descriptor of our own: the logger and syslog(3) take locks, which a handler may not. PRIORITY:
// as syslog(3) has it.
[[nodiscard]] LogChannel open_log_channel(const Configuration& configuration, int priority);

} // namespace rpmem::target
