// SPDX-License-Identifier: BSD-3-Clause
// rpmem_remove(): a command without a session.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <string>

namespace rpmem::initiator {

// Runs COMMAND, made by remove_command(), on the target. Its answer is the line that rpmemd prints,
// or the exit status if it prints none (protocol 0.1).
Result<> run_removal(const Target& target, const std::string& command, const Settings& settings);

} // namespace rpmem::initiator
