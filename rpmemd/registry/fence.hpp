// SPDX-License-Identifier: BSD-3-Clause
// Ends the daemon of a session, so that it cannot write to the pool any more.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <chrono>

namespace rpmem::target {

// A killed daemon exits within this time, unless the kernel waits for a medium or a device.
inline constexpr std::chrono::seconds fence_time(5);

// Kills the process that holds the lock of FILE and waits for its exit. Returns at once if no other
// process holds it. The kernel names the process, so a compromised daemon cannot name another one.
// Fails with EACCES if this user may not signal the process, and with EBUSY if it still exists
// after WITHIN or exclusive_holder() cannot find it.
[[nodiscard]] Result<> fence(const StateDirectory& directory, const StateFile& file,
                             std::chrono::milliseconds within = fence_time);

} // namespace rpmem::target
