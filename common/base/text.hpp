// SPDX-License-Identifier: BSD-3-Clause
// Parses parts of a text, and converts bytes to text.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rpmem {

// Returns the part of TEXT before the first of SEPARATORS, or all of it. Removes that part and the
// separator from TEXT.
[[nodiscard]] inline std::string_view take_until(std::string_view& text,
                                                 std::string_view separators) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

// Returns nothing unless TEXT consists of digits only, and the number fits into Number.
template <std::unsigned_integral Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, int base = 10) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

[[nodiscard]] inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the text in FIELD, which has a fixed size and is padded with NULs.
[[nodiscard]] inline std::string_view fixed_text(std::string_view field) {
    return field.substr(0, field.find('\0'));
}

// Returns TEXT without blanks at either end.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\v\f";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

} // namespace rpmem
