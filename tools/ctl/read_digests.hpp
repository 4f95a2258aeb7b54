// SPDX-License-Identifier: BSD-3-Clause
// Reads the digests in the answer of a target, which may be hostile.
#pragma once

#include "tools/compare/digests.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rpmem::ctl {

// Fails with EPROTO if the digests are missing or malformed.
[[nodiscard]] Result<compare::PoolDigests> read_digests(const nlohmann::json& document);

} // namespace rpmem::ctl
