// SPDX-License-Identifier: BSD-3-Clause
// Reports and verdicts for people.
#pragma once

#include "tools/ctl/verdict.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace rpmem::ctl {

// TITLE: "This node".
[[nodiscard]] std::string describe_node(const std::string& title, const nlohmann::json& report);
// TARGET: empty for this node alone.
[[nodiscard]] std::string describe(const Verdict& verdict, const std::string& target);

// "1.5 GiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

} // namespace rpmem::ctl
