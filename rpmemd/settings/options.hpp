// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpmemd, and with it the whole configuration.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <filesystem>
#include <string>
#include <variant>

namespace rpmem::target {

// The arguments and the environment.
struct Environment {
    std::string version;               // the text of --version
    std::string home;                  // empty: unknown
    std::filesystem::path user_file;   // over system_file; empty: none
    std::filesystem::path system_file; // empty: none
};

// $HOME, or else the home of the user in the password database; the files of rpmemd(1).
Environment process_environment(std::string version);

// --help, --version, --check-config: print TEXT on standard output and exit with STATUS.
struct ExitRequest {
    std::string text;
    int status = 0;
};

using CommandLine = std::variant<Configuration, ExitRequest>;

// Reads the configuration files that count, and puts the options over them. EINVAL for a bad option
// or setting; ENOENT for a missing --config file; other errno values of reading a file.
Result<CommandLine> parse_command_line(int argc, const char* const argv[],
                                       const Environment& environment);

} // namespace rpmem::target
