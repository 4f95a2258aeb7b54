// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpmemctl.
#pragma once

#include <string>
#include <variant>

namespace rpmem::ctl {

struct ProbeCommand {
    std::string target; // empty: this node only
    bool json = false;
};

struct SettingsCommand {};

// Nothing to do but to print TEXT, and to end with STATUS.
struct Exit {
    std::string text;
    int status;
};

using CommandLine = std::variant<ProbeCommand, SettingsCommand, Exit>;

[[nodiscard]] CommandLine parse_command_line(int argc, const char* const argv[]);

inline constexpr int status_possible = 0;
inline constexpr int status_impossible = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_unknown = 3;

} // namespace rpmem::ctl
