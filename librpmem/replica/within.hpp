// SPDX-License-Identifier: BSD-3-Clause
// Bounds calls on files of this machine, whose file system may not respond.
#pragma once

#include "common/base/call_within.hpp"
#include "common/base/result.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rpmem::initiator {

// Like call_within(), but returns the result of FUNCTION. FUNCTION must own everything it uses,
// because it continues in the background after TIME.
template <typename Function>
std::invoke_result_t<Function> within(std::chrono::milliseconds time, Function function) {
    auto result = std::make_shared<std::optional<std::invoke_result_t<Function>>>();
    RPMEM_TRY(call_within(time, [result, function = std::move(function)] {
        try {
            *result = function();
        } catch (const std::exception&) {
            // No memory is left, so there is no result.
        }
    }));
    if (!*result)
        return fail(ErrorClass::resource_limit, ENOMEM, "no memory left");
    return std::move(**result);
}

} // namespace rpmem::initiator
