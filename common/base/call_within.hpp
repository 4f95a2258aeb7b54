// SPDX-License-Identifier: BSD-3-Clause
// A deadline for functions of libc that have none: getaddrinfo(3) waits for name servers that do
// not answer, and getpwuid_r(3) for a user database in the network.
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <functional>

namespace rpmem {

// How many calls may go on in the background at once. A program that reconnects for hours while its
// name servers are down must not collect threads.
inline constexpr int max_unfinished_calls = 16;

// Runs CALL in a thread of its own and waits for it, for at most TIME. Fails with ETIMEDOUT if it
// takes longer: then the thread goes on alone, so CALL must own all that it uses. Fails with EAGAIN
// if max_unfinished_calls earlier ones still go on, or if there can be no thread.
[[nodiscard]] Result<> call_within(std::chrono::milliseconds time, std::function<void()> call);

} // namespace rpmem
