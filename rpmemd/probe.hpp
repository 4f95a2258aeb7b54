// SPDX-License-Identifier: BSD-3-Clause
// rpmemd --probe: a report on this target, for rpmemctl(1).
#pragma once

#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

// Returns the report as JSON. ADDRESS is the address to listen on, or empty if it is unknown.
[[nodiscard]] std::string probe(const Configuration& configuration, const std::string& address,
                                const std::string& version);

} // namespace rpmem::target
