// SPDX-License-Identifier: BSD-3-Clause
// Pieces of text that somebody else has written.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

namespace rpmem {

// The text before the first of SEPARATORS, or all of it. TEXT keeps the rest behind that one.
[[nodiscard]] inline std::string_view take_until(std::string_view& text,
                                                 std::string_view separators) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

// Nothing, if TEXT is more or less than the digits of a Number.
template <std::unsigned_integral Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, int base = 10) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Without blanks at either end.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\v\f";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

} // namespace rpmem
