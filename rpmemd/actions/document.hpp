// SPDX-License-Identifier: BSD-3-Clause
// Converts records and facts to members of a JSON document.
#pragma once

#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/registry/sessions.hpp"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace rpmem::target {

// The format number of all documents. Additional members do not change it.
inline constexpr int document_format = 1;

[[nodiscard]] nlohmann::json json_of(const LiveSession& session);
[[nodiscard]] nlohmann::json json_of(const std::vector<LiveSession>& sessions);
[[nodiscard]] nlohmann::json json_of(const PartFacts& part);
// The chmod commands for parts that are refused because of their mode.
[[nodiscard]] nlohmann::json repairs_of(const PoolFacts& pool);
[[nodiscard]] nlohmann::json attributes_json(const PoolHeader& header);
[[nodiscard]] nlohmann::json shutdown_json(const PoolHeader& header);
[[nodiscard]] const char* name_of(HeaderLayout headers);

} // namespace rpmem::target
