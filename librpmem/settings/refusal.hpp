// SPDX-License-Identifier: BSD-3-Clause
// Settings that protect from others: an invalid value is refused, where any other is replaced by
// its default. A mistyped RPMEM_TLS would otherwise replicate in the clear.
#pragma once

#include "librpmem/settings/settings.hpp"

#include <string>
#include <string_view>

namespace rpmem::initiator {

[[nodiscard]] bool protects(std::string_view setting);

// Why no pool may be used with ENVIRONMENT; empty if all may.
[[nodiscard]] std::string refusal_in(const Environment& environment);

} // namespace rpmem::initiator
