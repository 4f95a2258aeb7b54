// SPDX-License-Identifier: BSD-3-Clause
// Ending a session for good: its daemon, and the right of its initiator to go on.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_directory.hpp"

#include <sys/types.h>

#include <chrono>
#include <string_view>

namespace rpmem::target {

// How long the initiator may come back in between, and be ended again.
inline constexpr std::chrono::seconds evict_time(10);

// Ends the session ID and what its initiator makes in its place, and takes the pools from it: its
// next session is answered with ESTALE. PART_MODE is the setting part-mode. Returns what the
// session was. ENOENT: there is no such session; EBUSY: it did not succeed WITHIN this time; else
// see fence() and open_pool_file().
[[nodiscard]] Result<LiveSession> evict(const StateDirectory& directory, std::string_view id,
                                        mode_t part_mode, const Log& log,
                                        std::chrono::milliseconds within = evict_time);

} // namespace rpmem::target
