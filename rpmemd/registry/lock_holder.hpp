// SPDX-License-Identifier: BSD-3-Clause
// Finds the process that holds the lock of a file. The kernel reports it, because a process could
// write any number into the file.
#pragma once

#include "common/base/result.hpp"

#include <sys/types.h>

#include <optional>

namespace rpmem::target {

// Returns the process that holds the exclusive lock (flock(2)) of FILE, which is in DIRECTORY, or
// nothing if there is none. Fails with EBUSY if this process cannot see the holder: it is on
// another machine or in another container, or /proc is not mounted. FILE and DIRECTORY must not
// hold a lock of the caller, because this function locks and unlocks both.
[[nodiscard]] Result<std::optional<pid_t>> exclusive_holder(int file, int directory);

} // namespace rpmem::target
