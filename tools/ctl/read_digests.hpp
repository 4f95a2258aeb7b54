// SPDX-License-Identifier: BSD-3-Clause
// The digests in a target's answer, which may be anything.
#pragma once

#include "tools/compare/digests.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rpmem::ctl {

// EPROTO if they are malformed.
[[nodiscard]] Result<compare::PoolDigests> read_digests(const nlohmann::json& document);

} // namespace rpmem::ctl
