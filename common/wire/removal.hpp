// SPDX-License-Identifier: BSD-3-Clause
// The answer of `rpmemd --remove` on its standard output. Protocol 0.1 has the exit status only,
// which ssh(1) passes on once nothing of the login holds its streams any more, and which an
// application that ignores SIGCHLD never learns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rpmem::wire {

// STATUS is 0 or a value of errno.
[[nodiscard]] std::string encode_removal(int status);

// The status in OUTPUT, in which a login shell may have printed lines of its own. Nothing until the
// whole answer has come.
[[nodiscard]] std::optional<int> find_removal(std::string_view output);

} // namespace rpmem::wire
