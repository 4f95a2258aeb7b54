// SPDX-License-Identifier: BSD-3-Clause
// Error texts about the end of a remote command: its cause, and what to do. Used by the library and
// by rpmemctl.
#pragma once

#include "common/base/child_process.hpp"
#include "librpmem/session/remote_command.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace rpmem::initiator {

// How long to wait for the end of the command after the last response of rpmemd. rpmemd exits at
// once. ssh may stay as long as another process on the target has its streams open, such as a job
// of the login shell.
inline constexpr std::chrono::milliseconds end_time{500};

// Exit status of ssh for its own failures, and for a command that a signal has ended, see ssh(1).
inline constexpr int ssh_failed = 255;

// What the command sent before it ended.
struct CommandOutput {
    bool spoke;        // rpmemd has answered, so the login and the command are right
    std::string error; // standard error of the command and of ssh
};

// Whether the remote shell did not find the command.
bool was_not_found(const ExitStatus& status);

// Returns "the remote command 'rpmemd' ended with status 3 WHEN: ERROR (ADVICE)". WHEN is a text
// such as "before it answered", and may be empty.
std::string describe_end(const RemoteCommand& command, const ExitStatus& status,
                         std::string_view when, const CommandOutput& words);

// NOISE is output that was received instead of that of rpmemd. The text quotes its beginning.
std::string describe_unexpected_output(const RemoteCommand& command, std::string_view noise);

// Returns MESSAGE with the error text of the remote command appended, unless that is empty.
[[nodiscard]] std::string with_text(const std::string& message, const std::string& remote_text);

} // namespace rpmem::initiator
