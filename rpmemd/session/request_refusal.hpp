// SPDX-License-Identifier: BSD-3-Clause
// The status in the response to a refused request, and how it follows from an error.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/status.hpp"

#include <string>

namespace rpmem::target {

// Returns the status for ERROR. An errno value that no status has gives wire::Status::fatal.
[[nodiscard]] wire::Status status_of(const Error& error);

// Returns an error for which status_of() returns STATUS.
[[nodiscard]] Failure refuse(wire::Status status, std::string reason);

} // namespace rpmem::target
