// SPDX-License-Identifier: BSD-3-Clause
// Functions for the fuzz targets: they split the input, and abort if a decoder breaks a promise.
// libFuzzer keeps the input of a program that aborts.
#pragma once

#include "common/base/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// libFuzzer calls this with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rpmem::fuzz {

using Bytes = std::vector<std::byte>;

// Ends the run unless HOLDS. PROMISE is the broken promise of the decoder. FILE and LINE are those
// of the call, because clang 14 has no std::source_location.
inline void require(bool holds, std::string_view promise, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    if (holds)
        return;
    const std::string text = fmt::format("{}:{}: broken promise: {}\n", file, line, promise);
    static_cast<void>(std::fputs(text.c_str(), stderr));
    std::abort();
}

// An error must have a text and one of CODES, and must not be a bug of the product.
inline void require_error(const Error& error, std::initializer_list<int> codes,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const bool documented = std::find(codes.begin(), codes.end(), error.code) != codes.end();
    if (!error.text.empty() && error.kind != ErrorClass::bug && documented)
        return;
    require(false,
            fmt::format("an error has a text, is no bug, and has a documented errno value; not "
                        "{}, \"{}\"",
                        error.code, error.text),
            file, line);
}

// Returns whether the input was refused. The error must have one of CODES.
template <typename T>
bool is_refused(const Result<T>& result, std::initializer_list<int> codes,
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!result)
        require_error(result.error(), codes, file, line);
    return !result;
}

// Control characters include those that start a new line or control a terminal.
inline bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

inline std::string_view text_of_input(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Splits an input from its beginning. Each piece is in its own memory, so that ASan detects a read
// after its end. At the end of the input, pieces are shorter, and values are filled with zeros.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size)
        : left_(std::as_bytes(std::span(data, size))) {}

    Bytes take(std::size_t most) {
        const auto taken = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(taken.size());
        return {taken.begin(), taken.end()};
    }

    template <typename T>
    T take_value() {
        T value{};
        const Bytes bytes = take(sizeof(T));
        if (!bytes.empty())
            std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    }

    // Returns the text up to the next end of a line, without it, or the rest of the input.
    std::string take_line() {
        const auto end = std::find(left_.begin(), left_.end(), std::byte{'\n'});
        const Bytes bytes = take(static_cast<std::size_t>(end - left_.begin()));
        static_cast<void>(take(1));
        return text_of(bytes);
    }

    std::string take_text() { return text_of(take(left_.size())); }
    [[nodiscard]] std::size_t left() const { return left_.size(); }

private:
    static std::string text_of(const Bytes& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    std::span<const std::byte> left_;
};

} // namespace rpmem::fuzz
