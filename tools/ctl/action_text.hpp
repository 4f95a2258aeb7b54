// SPDX-License-Identifier: BSD-3-Clause
// Texts that display the target's answers to actions. The target may be hostile, so missing members
// are left out and texts are made printable.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace rpmem::ctl {

[[nodiscard]] std::string describe_list(const nlohmann::json& document);
[[nodiscard]] std::string describe_info(const nlohmann::json& document);
[[nodiscard]] std::string describe_checks(const nlohmann::json& document);
[[nodiscard]] std::string describe_check(const nlohmann::json& document);
[[nodiscard]] std::string describe_sessions(const nlohmann::json& document);
[[nodiscard]] std::string describe_evicted(const nlohmann::json& document);
[[nodiscard]] std::string describe_created(const nlohmann::json& document);
[[nodiscard]] std::string describe_accepted(const nlohmann::json& document);
[[nodiscard]] std::string describe_taken(const nlohmann::json& document);
// Returns what the marks of a pool mean for whoever accepts it, or an empty text.
[[nodiscard]] std::string losses_text(const nlohmann::json& document);

} // namespace rpmem::ctl
