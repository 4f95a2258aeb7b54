// Errors as values. Every function that can fail for a reason outside the program returns
// Result<T>; api.cpp and the daemon's main turn an Error into errno, text or a status.
#pragma once

#include <fmt/format.h>
#include <tl/expected.hpp>

#include <cstring>
#include <string>
#include <utility>

namespace rpmem {

// Who has to act, which is also what decides whether trying again can help.
enum class ErrorClass {
    caller_fault,   // an argument, a setting or a file of the user's is wrong
    target_refused, // the peer answered, and said no
    link_lost,      // the peer, ssh or the fabric went away, or the peer broke the protocol
    medium_failed,  // the target's disk or memory: nothing is durable there that was not before
    resource_limit, // a limit of this system: memory, descriptors, lanes
    bug,            // cannot happen; if it does, the text says where
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

// As fail(), with ": <strerror(code)>" appended.
template <typename... Args>
[[nodiscard]] Failure fail_errno(ErrorClass kind, int code, fmt::format_string<Args...> format,
                                 Args&&... args) {
    char buffer[128];
    const char* reason = strerror_r(code, buffer, sizeof(buffer));
    return Failure(Error{
        code, kind, fmt::format(format, std::forward<Args>(args)...) + ": " + std::string(reason)});
}

// The same error with where it happened in front: "opening pool.set: <text>".
[[nodiscard]] inline Failure in_context(std::string context, Error error) {
    error.text = std::move(context) + ": " + error.text;
    return Failure(std::move(error));
}

template <typename T>
[[nodiscard]] Failure propagate(Result<T>&& result) {
    return Failure(std::move(result).error());
}

} // namespace rpmem

// Leaves the function with the error of a Result<void>-like expression.
#define RPMEM_TRY(expression)                                                                      \
    do {                                                                                           \
        if (auto rpmem_try_result = (expression); !rpmem_try_result)                               \
            return ::tl::unexpected(std::move(rpmem_try_result).error());                          \
    } while (false)
