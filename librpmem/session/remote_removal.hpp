// SPDX-License-Identifier: BSD-3-Clause
// Runs the command of rpmem_remove(), without a session.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <string>

namespace rpmem::initiator {

// Runs COMMAND, which remove_command() has made, on the target. The result is in the line that
// rpmemd prints. If there is none (protocol 0.1), it is the exit status.
Result<> run_removal(const Target& target, const std::string& command, const Settings& settings);

} // namespace rpmem::initiator
