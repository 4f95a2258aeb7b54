// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpmemctl.
#pragma once

#include "tools/ctl/command.hpp"

#include <string>
#include <variant>

namespace rpmem::ctl {

// The program only has to print TEXT and to exit with STATUS.
struct Exit {
    std::string text;
    int status;
};

using CommandLine = std::variant<Command, Exit>;

[[nodiscard]] CommandLine parse_command_line(int argc, const char* const argv[]);

} // namespace rpmem::ctl
