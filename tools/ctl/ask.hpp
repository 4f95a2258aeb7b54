// SPDX-License-Identifier: BSD-3-Clause
// Runs an action of rpmemd on the target, see rpmemd(1).
#pragma once

#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rpmem::ctl {

// Timeout of actions that read or write a whole pool, because a medium may be large and slow. ssh
// detects a lost target earlier.
inline constexpr std::chrono::hours work_timeout(24);

struct ActionAnswer {
    nlohmann::json document; // an object; with "error" if the action failed
    int status = 0;          // exit status of rpmemctl
};

// WORDS are the option of the action and its arguments. ACTION_TIMEOUT is the time for the action
// in addition to the connect timeout. INPUT is the standard input of the action.
[[nodiscard]] ActionAnswer ask_action(const initiator::Target& target,
                                      const std::vector<std::string>& words,
                                      const initiator::Settings& settings,
                                      std::chrono::milliseconds action_timeout,
                                      const std::string& input = {});

// Returns a failure in the form in which the target reports one. CODE is an errno value.
[[nodiscard]] ActionAnswer failed_answer(int code, const std::string& text);

} // namespace rpmem::ctl
