// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpmemd. Parsing it also reads the configuration files.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <filesystem>
#include <string>
#include <variant>

namespace rpmem::target {

// The environment of the command line. An empty path stands for no file.
struct Environment {
    std::string version;             // the text of --version
    std::string home;                // empty if unknown
    std::filesystem::path user_file; // its values override those of system_file
    std::filesystem::path system_file;
};

// Returns the environment of this process. The home directory is $HOME, or that of the user in the
// password database.
Environment process_environment(std::string version);

// The result of --help, --version and --check-config. The caller prints TEXT on standard output,
// and exits with STATUS.
struct ExitRequest {
    std::string text;
    int status = 0;
};

using CommandLine = std::variant<Configuration, ExitRequest>;

// Reads the configuration files, and overrides their values with those of environment variables and
// then with the options. Fails with EINVAL for an invalid option or setting, with ENOENT if the
// file of --config is missing, and like read_configuration_file().
Result<CommandLine> parse_command_line(int argc, const char* const argv[],
                                       const Environment& environment);

} // namespace rpmem::target
