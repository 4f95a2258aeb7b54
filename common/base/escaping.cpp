// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/escaping.hpp"

#include <fmt/format.h>
#include <langinfo.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rpmem {
namespace {

constexpr std::size_t escape_size = 4; // \xNN

struct Decoded {
    std::size_t size = 0; // 0: malformed
    std::uint32_t code = 0;
};

// Decodes a sequence of two to four bytes. A sequence longer than its code point needs is malformed
// (RFC 3629).
Decoded decode_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (first < 0xc2 || first > 0xf4 || text.size() < size)
        return {};
    std::uint32_t code = first & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80)
            return {};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[size] || code > 0x10ffff || is_surrogate ? Decoded{}
                                                                    : Decoded{size, code};
}

bool is_control(std::uint32_t code) {
    return code < 0xa0 ||                        // C1
           (code >= 0x200b && code <= 0x200f) || // zero width, direction marks
           (code >= 0x2028 && code <= 0x202e) || // line separators, direction embeddings
           (code >= 0x2060 && code <= 0x206f) || // invisible operators, direction isolates
           code == 0xfeff;                       // byte order mark
}

} // namespace

std::string printable(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char character : text)
        if (character >= ' ' && character < 0x7f)
            result += character;
        else
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    return result;
}

Charset charset_of_locale() {
    return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0 ? Charset::utf8 : Charset::ascii;
}

std::size_t printable_prefix(std::string_view text, Charset charset) {
    if (text.empty())
        return 0;
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80 || charset == Charset::ascii)
        return first >= ' ' && first < 0x7f ? 1 : 0;
    const Decoded decoded = decode_utf8(text);
    return is_control(decoded.code) ? 0 : decoded.size;
}

void put_printable(std::span<char> place, std::string_view text, Charset charset) {
    constexpr char digits[] = "0123456789abcdef";
    char* out = place.data();
    std::size_t room = place.size() - 1;
    while (!text.empty()) {
        const std::size_t size = printable_prefix(text, charset);
        const std::size_t needed = size > 0 ? size : escape_size;
        if (needed > room)
            break;
        if (size > 0) {
            std::copy_n(text.data(), size, out);
        } else {
            const auto byte = static_cast<unsigned char>(text.front());
            const char escape[escape_size] = {'\\', 'x', digits[byte >> 4], digits[byte & 0xf]};
            std::copy_n(escape, escape_size, out);
        }
        out += needed;
        room -= needed;
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    *out = '\0';
}

} // namespace rpmem
