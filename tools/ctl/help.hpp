// SPDX-License-Identifier: BSD-3-Clause
// The help texts of the verbs.
#pragma once

#include "tools/ctl/command.hpp"

#include <span>

namespace rpmem::ctl {

struct VerbHelp {
    Command::Verb verb;
    const char* group; // heading in `rpmemctl --help`
    const char* name;
    const char* arguments;   // positional arguments; parse_command_line() declares them
    const char* summary;     // one line
    const char* description; // of `rpmemctl VERB --help`
    const char* footer;      // exit statuses and examples
};

// Returns the verbs in the order of --help.
[[nodiscard]] std::span<const VerbHelp> verb_helps();
[[nodiscard]] const VerbHelp& help_of(Command::Verb verb);

} // namespace rpmem::ctl
