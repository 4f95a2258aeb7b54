// SPDX-License-Identifier: BSD-3-Clause
// Bounds calls of libc functions that take no timeout. getaddrinfo(3) waits for unresponsive name
// servers, and getpwuid_r(3) for a user database in the network.
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <functional>

namespace rpmem {

// Maximum number of calls that run at once, including timed-out ones in the background. A program
// that reconnects for hours while its name servers are down must not accumulate threads.
inline constexpr int max_unfinished_calls = 16;

// Runs CALL in a new thread and waits for it for at most TIME. Fails with ETIMEDOUT if CALL takes
// longer. The thread then continues in the background, so CALL must own everything it uses. Fails
// with EAGAIN if max_unfinished_calls are running already, or if no thread can be created.
[[nodiscard]] Result<> call_within(std::chrono::milliseconds time, std::function<void()> call);

} // namespace rpmem
