// SPDX-License-Identifier: BSD-3-Clause
// The files of sessions in state-dir. A daemon holds the lock of its file until it exits, so an
// unlocked file belongs to an ended session.
#pragma once

#include "common/base/log.hpp"
#include "common/base/time_text.hpp"
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
    std::string id; // from the name of its file: hexadecimal digits
    pid_t pid = 0;  // process ID of the daemon from the kernel; 0 if it is not visible from here
    SessionRecord record;
    std::int64_t last_seen = 0; // seconds since the epoch
};

// Creates and locks a file with RECORD.
[[nodiscard]] Result<StateFile> make_session_file(const StateDirectory& directory,
                                                  const SessionRecord& record);

// Returns all live sessions. Removes the files of ended ones. Files that cannot be read are logged
// and skipped.
[[nodiscard]] std::vector<LiveSession> live_sessions(const StateDirectory& directory,
                                                     const Log& log);

// Removes the files of ended sessions, at most max_removed in one call. A confined daemon cannot
// remove its own file.
void remove_ended_sessions(const StateDirectory& directory);
inline constexpr std::size_t max_removed = 1000; // takes about 10 ms

// Ends the daemon of SESSION like fence().
[[nodiscard]] Result<> end_daemon(const StateDirectory& directory, const LiveSession& session);

// Returns SessionRecord::pool_set_key for the absolute path of a pool set file.
[[nodiscard]] Result<transport::Digest> key_of(const std::filesystem::path& pool_set);

// Returns "user U on host H (ADDRESS)". An empty part becomes "unknown".
[[nodiscard]] std::string describe(const InitiatorName& initiator);

} // namespace rpmem::target
