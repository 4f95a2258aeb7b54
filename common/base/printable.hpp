// SPDX-License-Identifier: BSD-3-Clause
// Text of a peer, for people: nothing in it may command a terminal or start a line of its own. The
// log and rpmemctl use printable() of log.hpp, which leaves ASCII only.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rpmem {

enum class Charset { ascii, utf8 };

// The charset of the program's locale, which is ASCII unless the program called setlocale(3).
[[nodiscard]] Charset charset_of_locale();

// How many bytes at the beginning of TEXT are one printable character; 0: none, the first byte is a
// control character (C0, C1 or one that changes the direction of writing) or malformed.
[[nodiscard]] std::size_t printable_prefix(std::string_view text, Charset charset);

// Copies TEXT into PLACE with a NUL behind it, and writes each byte that is not printable as \xNN.
// What does not fit is cut. Allocates nothing.
void put_printable(std::span<char> place, std::string_view text, Charset charset);

} // namespace rpmem
