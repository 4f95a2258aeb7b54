// SPDX-License-Identifier: BSD-3-Clause
// Texts for display: reports, verdicts and sizes.
#pragma once

#include "tools/ctl/verdict.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace rpmem::ctl {

// TITLE is the heading, such as "This node".
[[nodiscard]] std::string describe_node(const std::string& title, const nlohmann::json& report);
// TARGET is empty if only this node was examined.
[[nodiscard]] std::string describe(const Verdict& verdict, const std::string& target);

// Returns a text such as "1.5 GiB". Sizes below 1 MiB are in whole KiB.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

} // namespace rpmem::ctl
