// SPDX-License-Identifier: BSD-3-Clause
// Errors as values. Every function that can fail for a reason outside the program returns
// Result<T>. api.cpp and the daemon's main() turn an Error into errno, a text or a status.
#pragma once

#include <fmt/format.h>
#include <tl/expected.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace rpmem {

// Who has to act. The class also decides whether a retry can help.
enum class ErrorClass {
    caller_fault,   // an argument, a setting or a file of the user is invalid
    target_refused, // the target refused the request, or its answer is malformed
    link_lost,      // the connection to the peer was lost, or the peer violated the protocol
    medium_failed,  // the disk or memory of the target failed, and stores nothing any more
    resource_limit, // a limit of this system: memory, descriptors, lanes
    bug,            // an internal error; the text says where
};

struct Error {
    int code; // a positive errno value
    ErrorClass kind;
    std::string text;
};

template <typename T = void>
using Result = tl::expected<T, Error>;
using Failure = tl::unexpected<Error>;

template <typename... Args>
[[nodiscard]] Failure fail(ErrorClass kind, int code, fmt::format_string<Args...> format,
                           Args&&... args) {
    return Failure(Error{code, kind, fmt::format(format, std::forward<Args>(args)...)});
}

// An argument, a setting or a file of the user is invalid.
template <typename... Args>
[[nodiscard]] Failure invalid(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorClass::caller_fault, EINVAL, format, std::forward<Args>(args)...);
}

// Like fail(), with ": <strerror(code)>" appended.
template <typename... Args>
[[nodiscard]] Failure fail_errno(ErrorClass kind, int code, fmt::format_string<Args...> format,
                                 Args&&... args) {
    char buffer[128];
    const char* reason = strerror_r(code, buffer, sizeof(buffer));
    return Failure(Error{
        code, kind, fmt::format(format, std::forward<Args>(args)...) + ": " + std::string(reason)});
}

// Prefixes the text of ERROR with its context: "opening pool.set: <text>".
[[nodiscard]] inline Failure in_context(std::string context, Error error) {
    error.text = std::move(context) + ": " + error.text;
    return Failure(std::move(error));
}

template <typename T>
[[nodiscard]] Result<T> in_context(std::string context, Result<T> result) {
    return result ? std::move(result) : in_context(std::move(context), std::move(result).error());
}

} // namespace rpmem

// Returns from the calling function if the result is an error. Ignores its value.
#define RPMEM_TRY(...)                                                                             \
    do {                                                                                           \
        if (auto&& rpmem_result = (__VA_ARGS__); !rpmem_result)                                    \
            return RPMEM_FAILURE_OF(rpmem_result);                                                 \
    } while (false)

// Like RPMEM_TRY, but moves the value into DECLARATION, for example
//   RPMEM_ASSIGN(auto events, EventQueue::open(domain))
//   RPMEM_ASSIGN(domain_, open_domain(provider))
// If the expression is an lvalue, DECLARATION may be a reference to its value.
#define RPMEM_ASSIGN(declaration, ...)                                                             \
    RPMEM_ASSIGN_BY(RPMEM_JOIN(rpmem_result_, __LINE__), declaration, __VA_ARGS__)

#define RPMEM_ASSIGN_BY(result, declaration, ...)                                                  \
    auto&& result = (__VA_ARGS__);                                                                 \
    if (!result)                                                                                   \
        return RPMEM_FAILURE_OF(result);                                                           \
    declaration = *std::forward<decltype(result)>(result)

// Moves the error out of a temporary, and copies it from an lvalue.
#define RPMEM_FAILURE_OF(result) ::tl::unexpected(std::forward<decltype(result)>(result).error())
#define RPMEM_JOIN(left, right) RPMEM_JOIN_EXPANDED(left, right)
#define RPMEM_JOIN_EXPANDED(left, right) left##right
