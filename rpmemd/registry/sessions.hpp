// SPDX-License-Identifier: BSD-3-Clause
// The files of sessions in state-dir. Each is locked by its daemon for its life: an unlocked one is
// of a session that has ended.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::target {

struct LiveSession {
    std::string id; // the id of its file: hexadecimal digits
    pid_t pid = 0;  // of its daemon, as the kernel reports it; 0: not visible from here
    SessionRecord record;
    std::int64_t last_seen = 0; // seconds since the epoch
};

// A file for RECORD, locked.
[[nodiscard]] Result<StateFile> make_session_file(const StateDirectory& directory,
                                                  const SessionRecord& record);

// Those of other daemons. Removes files of sessions that have ended; files that cannot be read are
// told, and passed over.
[[nodiscard]] std::vector<LiveSession> live_sessions(const StateDirectory& directory,
                                                     const Log& log);

// Removes files of sessions that have ended, at most max_removed at a time: sessions that ended
// cannot do so, because a confined daemon removes nothing there.
void remove_ended_sessions(const StateDirectory& directory);
inline constexpr std::size_t max_removed = 1000; // takes some 10 ms

// Ends the daemon of a session: see fence().
[[nodiscard]] Result<> end_daemon(const StateDirectory& directory, const LiveSession& session);

// The SessionRecord::pool_set_key of a pool set file, which is absolute.
[[nodiscard]] Result<transport::Digest> key_of(const std::filesystem::path& pool_set);

// Seconds since the epoch, for people: "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string describe_time(std::int64_t seconds);

// "user U on host H (ADDRESS)", as much as is known.
[[nodiscard]] std::string describe(const InitiatorName& initiator);

} // namespace rpmem::target
