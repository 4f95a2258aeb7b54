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

// evict() ends new sessions of the initiator for at most this time.
inline constexpr std::chrono::seconds evict_time(10);

// Ends the session ID and every session by which its initiator resumes it, and clears the owner in
// the record of the pool. Then a later generation of the session fails with ESTALE. A session
// without LOGIN has no owner, so only its daemon is ended. PART_MODE is the setting part-mode.
// Returns the session. Fails with ENOENT if there is no such session, and with EBUSY if after
// WITHIN the initiator still reconnects, or the pool or its record is locked. Also fails like
// fence(), StateFile and PartFile::open(). WITHIN does not include the waits of fence().
[[nodiscard]] Result<LiveSession> evict(const StateDirectory& directory, std::string_view id,
                                        mode_t part_mode, const Log& log,
                                        std::chrono::milliseconds within = evict_time);

} // namespace rpmem::target
