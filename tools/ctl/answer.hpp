// SPDX-License-Identifier: BSD-3-Clause
// The JSON document with which a target answers. The target may be hostile.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rpmem::ctl {

// Maximum levels of objects and lists. A report has 5. Printing and copying recurse once per level.
inline constexpr int max_answer_depth = 32;

// Returns a discarded value, which is not an object, if TEXT is not JSON or is nested deeper than
// max_answer_depth.
[[nodiscard]] nlohmann::json parse_answer(std::string_view text);

} // namespace rpmem::ctl
