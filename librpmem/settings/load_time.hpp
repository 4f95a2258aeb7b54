// SPDX-License-Identifier: BSD-3-Clause
// Settings that are read when the library is loaded, see librpmem(7).
#pragma once

#include "common/base/log.hpp"

#include <optional>

namespace rpmem::initiator {

// Like secure_getenv(3), but RPMEM_CMD, RPMEM_MAX_NLANES and RPMEM_WORK_QUEUE_SIZE have their
// values at load.
const char* setting_from_environment(const char* name);

// Returns the file of standard error at load, or nothing if it was closed.
std::optional<FileIdentity> standard_error_at_load();

} // namespace rpmem::initiator
