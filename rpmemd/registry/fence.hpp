// SPDX-License-Identifier: BSD-3-Clause
// Knowing a daemon again, and ending it: after that it writes nothing any more.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/records.hpp"

#include <chrono>

namespace rpmem::target {

// How long a killed daemon may take to end. It takes longer only where the kernel waits for a
// medium or a device.
inline constexpr std::chrono::seconds fence_time(5);

[[nodiscard]] Result<ProcessIdentity> own_identity();

// Ends PROCESS, and returns when it has ended; at once if it has already: another process that has
// its number is left alone. EBUSY: it was killed, and is still there after WITHIN; or it runs on
// another machine or in another container, where it cannot be reached.
[[nodiscard]] Result<> fence(const ProcessIdentity& process,
                             std::chrono::milliseconds within = fence_time);

} // namespace rpmem::target
