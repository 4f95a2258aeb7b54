// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/hex.hpp"

namespace rpmem {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

} // namespace

std::string hex_of(std::span<const std::byte> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4];
        text += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

bool decode_hex(std::string_view text, std::span<std::byte> bytes) {
    if (text.size() != 2 * bytes.size())
        return false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto high = digits.find(text[2 * i]);
        const auto low = digits.find(text[2 * i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos)
            return false;
        bytes[i] = static_cast<std::byte>(high << 4 | low);
    }
    return true;
}

} // namespace rpmem
