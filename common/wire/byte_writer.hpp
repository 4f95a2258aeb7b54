// SPDX-License-Identifier: BSD-3-Clause
// Appends packed fields to a message.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rpmem::wire {

class ByteWriter {
public:
    explicit ByteWriter(std::size_t expected_size) { bytes_.reserve(expected_size); }

    template <std::unsigned_integral T>
    void big_endian(T value) {
        for (std::size_t left = sizeof(T); left > 0; --left)
            bytes_.push_back(static_cast<std::byte>((value >> (8 * (left - 1))) & 0xff));
    }

    template <std::unsigned_integral T>
    void host_order(T value) {
        raw(std::as_bytes(std::span<const T, 1>(&value, 1)));
    }

    // Append a field; see ByteReader.
    template <typename T>
    void number(T field) {
        if constexpr (std::is_enum_v<T>)
            big_endian(static_cast<std::underlying_type_t<T>>(field));
        else
            big_endian(field);
    }
    template <typename T>
    void number_in_host_order(T field) {
        host_order(field);
    }
    template <typename T>
    void bytes(const T& field) {
        raw(std::as_bytes(std::span(field)));
    }

    void raw(std::span<const std::byte> data) {
        bytes_.insert(bytes_.end(), data.begin(), data.end());
    }

    void text(std::string_view characters) { raw(std::as_bytes(std::span(characters))); }
    void zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }

    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

} // namespace rpmem::wire
