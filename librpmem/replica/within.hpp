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

// Runs FUNCTION, which owns what it uses, for at most TIME.
template <typename Function>
std::invoke_result_t<Function> within(std::chrono::milliseconds time, Function function) {
    auto result = std::make_shared<std::optional<std::invoke_result_t<Function>>>();
    RPMEM_TRY(call_within(time, [result, function = std::move(function)] {
        try {
            *result = function();
        } catch (const std::exception&) {
            // Without memory there is no result.
        }
    }));
    if (!*result)
        return fail(ErrorClass::resource_limit, ENOMEM, "no memory left");
    return std::move(**result);
}

} // namespace rpmem::initiator
