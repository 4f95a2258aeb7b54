// SPDX-License-Identifier: BSD-3-Clause
// Settings that protect from others: an invalid value is refused, where any other is replaced by
// its default. A mistyped RPMEM_TLS would otherwise replicate in the clear.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/settings/settings.hpp"

#include <string>
#include <string_view>

namespace rpmem::initiator {

[[nodiscard]] bool protects(std::string_view setting);

// Why no pool may be used with ENVIRONMENT; empty if all may.
[[nodiscard]] std::string refusal_in(const Environment& environment);

// Whether librpmem may work in this program. EPERM: it has more rights than the user who started
// it. EINVAL: a setting of ENVIRONMENT that protects is invalid.
[[nodiscard]] Result<> may_start_programs(const Environment& environment);

} // namespace rpmem::initiator
