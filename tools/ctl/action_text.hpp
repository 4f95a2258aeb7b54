// SPDX-License-Identifier: BSD-3-Clause
// The answers of the target's actions, for people. They are not trusted: the text leaves out
// missing members.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace rpmem::ctl {

[[nodiscard]] std::string describe_list(const nlohmann::json& document);
[[nodiscard]] std::string describe_info(const nlohmann::json& document);
[[nodiscard]] std::string describe_check(const nlohmann::json& document);
[[nodiscard]] std::string describe_sessions(const nlohmann::json& document);
[[nodiscard]] std::string describe_evicted(const nlohmann::json& document);
[[nodiscard]] std::string describe_created(const nlohmann::json& document);

} // namespace rpmem::ctl
