// SPDX-License-Identifier: BSD-3-Clause
// What the end of a remote command tells: how it came about, and what to do. For the library and
// for rpmemctl.
#pragma once

#include "common/base/child_process.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace rpmem::initiator {

// rpmemd ends at once after its last answer. ssh may stay for as long as anything on the target
// holds its streams: a job that the login shell has started, or a helper of ssh.
inline constexpr std::chrono::milliseconds end_time{500};

// The command, as messages name it.
struct RemoteCommand {
    std::string target;  // [user@]host
    std::string command; // as RPMEM_CMD has it
    std::string ssh;     // as RPMEM_SSH has it; empty: libssh2 logs in
};
RemoteCommand remote_command(const Target& target, const std::string& command,
                             const Settings& settings);

// The bytes that the command sent before it ended.
struct CommandOutput {
    bool spoke;        // it had answered as rpmemd does: the login and the command were right
    std::string error; // its standard error, and that of ssh
};

// Whether ssh(1), or the remote shell for it, could not run the command at all.
bool was_not_found(const ExitStatus& status);

// "the remote command 'rpmemd' ended with status 3 WHEN: ERROR (ADVICE)". WHEN: "before it
// answered"; may be empty.
std::string describe_end(const RemoteCommand& command, const ExitStatus& status,
                         std::string_view when, const CommandOutput& words);

// NOISE stood where the first words of rpmemd should be. The text quotes its beginning.
std::string describe_noise(const RemoteCommand& command, std::string_view noise);

// MESSAGE, and what the remote command said on its error stream, if anything.
[[nodiscard]] std::string with_text(const std::string& message, const std::string& remote_text);

} // namespace rpmem::initiator
