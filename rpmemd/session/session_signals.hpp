// SPDX-License-Identifier: BSD-3-Clause
// The signals that end a session: SIGTERM, SIGINT and SIGHUP.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem::target {

// Blocks these signals, and returns a descriptor that is readable if one has arrived.
[[nodiscard]] Result<UniqueFd> take_over_signals();

// Reads a signal from FD, and returns its name and its sender. FD must be readable.
[[nodiscard]] std::string describe_signal(int fd);

} // namespace rpmem::target
