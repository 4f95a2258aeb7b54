// SPDX-License-Identifier: BSD-3-Clause
// Makes text from a peer safe for a log or a terminal: it can neither begin a new line nor send
// escape sequences.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rpmem {

// Returns TEXT with every byte that is not printable ASCII written as \xNN. The log and rpmemctl
// use it.
[[nodiscard]] std::string printable(std::string_view text);

enum class Charset { ascii, utf8 };

// Returns the charset of the program's locale: ASCII unless the program called setlocale(3).
[[nodiscard]] Charset charset_of_locale();

// Returns the length in bytes of the printable character at the beginning of TEXT. Returns 0 for a
// malformed one, for a control character (C0 or C1), and for an invisible character, which may
// change the writing direction or end the line.
[[nodiscard]] std::size_t printable_prefix(std::string_view text, Charset charset);

// Copies TEXT and a terminating NUL into PLACE. Each byte that is not printable is written as \xNN.
// Text that does not fit is cut. Does not allocate.
void put_printable(std::span<char> place, std::string_view text, Charset charset);

} // namespace rpmem
