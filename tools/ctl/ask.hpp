// SPDX-License-Identifier: BSD-3-Clause
// Letting the target's daemon do one of its actions (rpmemd(1)), and its answer.
#pragma once

#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rpmem::ctl {

// How long a target may work at digests and new parts: a medium may be large and slow. Ssh tells if
// it is gone.
inline constexpr std::chrono::hours work_timeout(24);

struct ActionAnswer {
    nlohmann::json document; // an object; with "error" if the action failed
    int status = 0;          // of rpmemctl
};

// WORDS: the option of the action, and what follows. PATIENCE: beside what a login may take. INPUT:
// the standard input of the action.
[[nodiscard]] ActionAnswer ask_action(const initiator::Target& target,
                                      const std::vector<std::string>& words,
                                      const initiator::Settings& settings,
                                      std::chrono::milliseconds patience,
                                      const std::string& input = {});

// As the target writes a failure. CODE: an errno value.
[[nodiscard]] ActionAnswer failed_answer(int code, const std::string& text);

} // namespace rpmem::ctl
