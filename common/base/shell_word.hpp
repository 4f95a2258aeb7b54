// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace rpmem {

// Returns whether C may be in a word without quotes.
[[nodiscard]] bool is_plain_in_shell(char c);

// Quotes TEXT, if necessary, as one word of a POSIX shell. Forced commands are parsed by the same
// rules, see rpmemd/settings/forced_command.hpp.
[[nodiscard]] std::string shell_word(std::string_view text);

} // namespace rpmem
