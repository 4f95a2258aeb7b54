// SPDX-License-Identifier: BSD-3-Clause
// The answer of `rpmemd --remove` on its standard output. Protocol 0.1 has only the exit status.
// But ssh(1) reports that status only after every process of the login has closed its streams, and
// an application that ignores SIGCHLD cannot get it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rpmem::wire {

// STATUS is 0 or an errno value.
[[nodiscard]] std::string encode_removal(int status);

// Returns the status in OUTPUT, which may contain lines of the login shell. Returns nothing if
// OUTPUT does not contain the whole answer yet.
[[nodiscard]] std::optional<int> find_removal(std::string_view output);

} // namespace rpmem::wire
