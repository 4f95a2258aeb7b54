// SPDX-License-Identifier: BSD-3-Clause
// The process that holds the lock of a file, as the kernel reports it. What a process wrote into
// the file itself would be its own word only.
#pragma once

#include "common/base/result.hpp"

#include <sys/types.h>

#include <optional>

namespace rpmem::target {

// The process that holds the exclusive lock (flock(2)) of FILE, which is in DIRECTORY. Nothing if
// nobody does. EBUSY if somebody does whom this process cannot see: on another machine, in another
// container, or without /proc.
[[nodiscard]] Result<std::optional<pid_t>> exclusive_holder(int file, int directory);

} // namespace rpmem::target
