// SPDX-License-Identifier: BSD-3-Clause
// Bytes as hexadecimal digits in lower case, and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace rpmem {

[[nodiscard]] std::string hex_of(std::span<const std::byte> bytes);

// Returns the bytes of VALUE in memory as digits.
template <typename T>
[[nodiscard]] std::string hex(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>);
    return hex_of(std::as_bytes(std::span(&value, 1)));
}

// Returns false unless TEXT has exactly two digits for each of BYTES.
[[nodiscard]] bool decode_hex(std::string_view text, std::span<std::byte> bytes);

} // namespace rpmem
