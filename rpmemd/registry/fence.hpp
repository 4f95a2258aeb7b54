// SPDX-License-Identifier: BSD-3-Clause
// Ending the daemon of a session: after that it writes nothing any more.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <chrono>

namespace rpmem::target {

// A killed daemon ends within this time. It takes longer only where the kernel waits for a medium
// or a device.
inline constexpr std::chrono::seconds fence_time(5);

// Ends the process that has locked FILE, and returns when it has ended; at once if nobody has. The
// kernel names the process, so a daemon that somebody has taken over cannot name another one.
// EBUSY: it was killed, and is still there after WITHIN; or it cannot be found: see
// exclusive_holder().
[[nodiscard]] Result<> fence(const StateDirectory& directory, const StateFile& file,
                             std::chrono::milliseconds within = fence_time);

} // namespace rpmem::target
