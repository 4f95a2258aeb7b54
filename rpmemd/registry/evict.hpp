// SPDX-License-Identifier: BSD-3-Clause
// Ends a session and bars its initiator from reconnecting.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_directory.hpp"

#include <sys/types.h>

#include <chrono>
#include <string_view>

namespace rpmem::target {

// The initiator may reconnect in the meantime, and is ended again for this time.
inline constexpr std::chrono::seconds evict_time(10);

// Ends the session ID and every session that its initiator starts instead, and removes the claim to
// the pool. The next session of the initiator fails with ESTALE. PART_MODE is the setting
// part-mode. Returns the session. Fails with ENOENT if there is no such session, with EBUSY if it
// is not ended WITHIN that time, and like fence() and open_pool_file().
[[nodiscard]] Result<LiveSession> evict(const StateDirectory& directory, std::string_view id,
                                        mode_t part_mode, const Log& log,
                                        std::chrono::milliseconds within = evict_time);

} // namespace rpmem::target
