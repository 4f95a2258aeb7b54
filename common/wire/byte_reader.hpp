// SPDX-License-Identifier: BSD-3-Clause
// Reads packed fields from a message. Decoders check the length of the whole message first. A read
// beyond the end yields zeros and stays within the message.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace rpmem::wire {

class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <std::unsigned_integral T>
    [[nodiscard]] T big_endian() {
        T value = 0;
        for (const std::byte byte : take(sizeof(T)))
            value = static_cast<T>((value << 8) | std::to_integer<T>(byte));
        return value;
    }

    template <std::unsigned_integral T>
    [[nodiscard]] T host_order() {
        T value = 0;
        raw(std::as_writable_bytes(std::span<T, 1>(&value, 1)));
        return value;
    }

    // Read into a field of a message. ByteWriter has functions with the same names, so that one
    // description of a message serves the encoder and the decoder.
    template <typename T>
    void number(T& field) {
        if constexpr (std::is_enum_v<T>)
            field = T{big_endian<std::underlying_type_t<T>>()};
        else
            field = big_endian<T>();
    }
    template <typename T>
    void number_in_host_order(T& field) {
        field = host_order<T>();
    }
    template <typename T>
    void bytes(T& field) {
        raw(std::as_writable_bytes(std::span(field)));
    }

    void raw(std::span<std::byte> destination) {
        const auto source = take(destination.size());
        if (!source.empty()) // memcpy(3) needs valid addresses even for 0 bytes
            std::memcpy(destination.data(), source.data(), source.size());
    }

    [[nodiscard]] std::span<const std::byte> rest() const { return left_; }

private:
    std::span<const std::byte> take(std::size_t count) {
        if (count > left_.size()) {
            left_ = {};
            return {};
        }
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }

    std::span<const std::byte> left_;
};

} // namespace rpmem::wire
