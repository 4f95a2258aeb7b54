// SPDX-License-Identifier: BSD-3-Clause
// The JSON document with which a target answers. The target may be hostile.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rpmem::ctl {

// Levels of objects and lists. A report has 5; printing and copying recurse once for each level.
inline constexpr int max_answer_depth = 32;

// Discarded (and so no object) if TEXT is not JSON, or is nested deeper than max_answer_depth.
[[nodiscard]] nlohmann::json parse_answer(std::string_view text);

} // namespace rpmem::ctl
