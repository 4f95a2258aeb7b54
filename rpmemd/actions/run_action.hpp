// SPDX-License-Identifier: BSD-3-Clause
// Runs an action for rpmemctl(1) instead of a session. The result is a JSON document, whose members
// are documented in rpmemctl(1).
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

struct ActionOutcome {
    std::string document; // JSON with a newline at the end
    int status = 0;       // 0, or an errno value if the document has the member "error"
};

// CONFIGURATION.action must be set.
[[nodiscard]] ActionOutcome run_action(const Configuration& configuration, Log& log);

} // namespace rpmem::target
