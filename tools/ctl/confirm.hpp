// SPDX-License-Identifier: BSD-3-Clause
// Asks before a step that cannot be undone.
#pragma once

#include <string>

namespace rpmem::ctl {

// Prints QUESTION to standard error and reads the answer from standard input. Returns whether it is
// "y" or "yes". Returns false without a question if standard input is not a terminal.
[[nodiscard]] bool confirm(const std::string& question);

} // namespace rpmem::ctl
