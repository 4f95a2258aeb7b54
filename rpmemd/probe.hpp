// SPDX-License-Identifier: BSD-3-Clause
// rpmemd --probe: a report on this target, for rpmemctl(1).
#pragma once

#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

// The report, in JSON. ADDRESS: to listen on; empty: not known.
[[nodiscard]] std::string probe(const Configuration& configuration, const std::string& address,
                                const std::string& version);

} // namespace rpmem::target
