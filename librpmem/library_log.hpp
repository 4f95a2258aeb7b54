// SPDX-License-Identifier: BSD-3-Clause
// The log of the library: where it is, and the kinds of its lines about failed calls.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "librpmem/settings/settings.hpp"

#include <string_view>

namespace rpmem::initiator {

// Opens the log that RPMEM_LOG_FILE and RPMEM_LOG_LEVEL describe, or standard error.
[[nodiscard]] Log open_log(const Settings& settings);

// Returns the kind of a log line, for Log::error_of_kind(), which limits the lines of each kind.
[[nodiscard]] std::string_view kind_of(ErrorClass kind);

} // namespace rpmem::initiator
