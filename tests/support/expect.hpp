// SPDX-License-Identifier: BSD-3-Clause
// Assertions about results and texts, and a temporary directory. Nearly every test also needs these
// headers of the standard library, so they are included here.
#pragma once

#include "common/base/result.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rpmem::test {

// Returns whether libpmem treats every file as persistent memory. It reads the variable when it is
// loaded.
inline bool pmem_is_forced() {
    const char* const forced = std::getenv("PMEM_IS_PMEM_FORCE");
    return forced != nullptr && std::string_view(forced) == "1";
}

// Returns the value of RESULT. Throws its error text if it failed, which fails the test.
template <typename Value>
Value value_of(Result<Value> result) {
    if (!result)
        throw std::runtime_error(result.error().text);
    return std::move(*result);
}

inline testing::AssertionResult contains(std::string_view text, std::string_view words) {
    if (text.find(words) != std::string_view::npos)
        return testing::AssertionSuccess() << '"' << words << "\" is in: " << text;
    return testing::AssertionFailure() << '"' << words << "\" is not in: " << text;
}

template <typename T>
testing::AssertionResult succeeded(const Result<T>& result) {
    if (result)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << result.error().text << " [" << result.error().code << "]";
}

// Succeeds if RESULT is an error with CODE and a text that contains WORDS.
template <typename T>
testing::AssertionResult failed(const Result<T>& result, int code, std::string_view words = {}) {
    if (result)
        return testing::AssertionFailure() << "no error";
    if (result.error().code != code)
        return succeeded(result) << ", expected " << code;
    return contains(result.error().text, words);
}

// Returns the bytes of a file, or an empty string if it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(text).str();
}

inline std::vector<std::byte> bytes_of_text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// The destructor removes the directory and its files.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = std::filesystem::temp_directory_path() / "rpmem-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("cannot make a directory for the test");
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace rpmem::test
