// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets have in common: how they take their input apart, and how they say that a
// decoder broke its promise. libFuzzer keeps the input of a program that aborts.
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

// What libFuzzer calls, with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rpmem::fuzz {

using Bytes = std::vector<std::byte>;

// Ends the run unless HOLDS. PROMISE says what the decoder promised. FILE and LINE are those of the
// call: clang 14 has no std::source_location.
inline void require(bool holds, std::string_view promise, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    if (holds)
        return;
    const std::string text = fmt::format("{}:{}: broken promise: {}\n", file, line, promise);
    static_cast<void>(std::fputs(text.c_str(), stderr));
    std::abort();
}

// An error tells something, is none of our own doing, and has one of CODES.
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

// The input was refused, with one of CODES.
template <typename T>
bool is_refused(const Result<T>& result, std::initializer_list<int> codes,
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!result)
        require_error(result.error(), codes, file, line);
    return !result;
}

// Also nothing that starts a new line or commands a terminal.
inline bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

inline std::string_view text_of_input(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// An input, taken from its beginning. What is taken lies in memory of its own, so that ASan sees
// who reads behind it. Where the input ends there is less, or zeros.
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

    // Up to the next end of a line, which is not in the text; all that is left if there is none.
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
