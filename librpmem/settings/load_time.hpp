// SPDX-License-Identifier: BSD-3-Clause
// Settings that are looked up when the library is loaded; see librpmem(7).
#pragma once

#include "common/base/log.hpp"

#include <optional>

namespace rpmem::initiator {

// As secure_getenv(3), but RPMEM_CMD, RPMEM_MAX_NLANES and RPMEM_WORK_QUEUE_SIZE have the values
// that they had at load.
const char* setting_from_environment(const char* name);

// The file that standard error was open on at load; nothing if it was closed.
std::optional<FileIdentity> standard_error_at_load();

} // namespace rpmem::initiator
