// SPDX-License-Identifier: BSD-3-Clause
// Settings that protect against attacks. An invalid value of such a setting is refused, whereas
// that of any other is replaced by the default. Otherwise a mistyped RPMEM_TLS would replicate
// without encryption.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/settings/settings.hpp"

#include <string>
#include <string_view>

namespace rpmem::initiator {

[[nodiscard]] bool protects(std::string_view setting);

// Returns why no pool may be used with ENVIRONMENT, or an empty string.
[[nodiscard]] std::string refusal_in(const Environment& environment);

// Fails if librpmem must not work in this program: with EPERM if it has more rights than the user
// who started it, with EINVAL if a protecting setting in ENVIRONMENT is invalid.
[[nodiscard]] Result<> may_start_programs(const Environment& environment);

} // namespace rpmem::initiator
