// SPDX-License-Identifier: BSD-3-Clause
// Instead of serving a session, rpmemd does one action for rpmemctl(1), and answers it with one
// JSON document. rpmemctl(1) has the members of the documents.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

struct ActionOutcome {
    std::string document; // JSON, and a line's end
    int status = 0;       // 0, or an errno value: then the document has "error"
};

// CONFIGURATION.action is there.
[[nodiscard]] ActionOutcome run_action(const Configuration& configuration, Log& log);

} // namespace rpmem::target
