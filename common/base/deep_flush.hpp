// SPDX-License-Identifier: BSD-3-Clause
// The sysfs file through which a process requests a deep flush of persistent memory.
#pragma once

#include "common/base/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace rpmem {

// Returns the path of the file deep_flush of the region to which DEVICE belongs. DEVICE is a block
// device or, with IS_CHARACTER, a Device DAX. Returns nothing if the region has no such file, or if
// the file states that no deep flush is needed. ROOT is the directory that contains sys.
[[nodiscard]] std::optional<std::filesystem::path>
find_deep_flush(dev_t device, bool is_character, const std::filesystem::path& root = "/");

// Opens that file for writing. The result is empty if there is none, or if this process may not
// write to it.
[[nodiscard]] UniqueFd open_deep_flush(dev_t device, bool is_character);

// Requests a deep flush through FILE, a descriptor from open_deep_flush(). Does nothing if FILE is
// -1. Returns 0 or a positive errno value.
[[nodiscard]] int deep_flush(int file);

[[nodiscard]] bool may_write(const std::filesystem::path& file);

} // namespace rpmem
