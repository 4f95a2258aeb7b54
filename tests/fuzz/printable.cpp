// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the functions that make untrusted texts safe for a log or a terminal. A control character
// in the result, or a result that is too long, fails.
#include "common/base/escaping.hpp"
#include "common/base/log.hpp"
#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    const std::string_view text = fuzz::text_of_input(data, size);
    const std::string shown = printable(text);
    require(std::all_of(shown.begin(), shown.end(), [](char c) { return c >= ' ' && c <= '~'; }),
            "all is printable ASCII");
    constexpr std::size_t max_character = 4;
    require(shown.size() >= text.size() && shown.size() <= max_character * text.size(),
            "a byte becomes one to four");
    require(printable(shown) == shown, "what is printable stays as it is");
    std::array<char, 64> place{};
    put_printable(place, text, Charset::utf8);
    const std::string_view put(place.data());
    for (std::string_view rest = put; !rest.empty();) {
        const std::size_t length = printable_prefix(rest, Charset::utf8);
        require(length > 0 && length <= max_character, "each character is printable");
        rest.remove_prefix(length);
    }
    return 0;
}
