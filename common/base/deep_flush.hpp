// SPDX-License-Identifier: BSD-3-Clause
// The file of the kernel by which a process asks persistent memory for a deep flush, and whether
// this process may write to it.
#pragma once

#include "common/base/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace rpmem {

// deep_flush of the region that has the device DEVICE, a block device or (IS_CHARACTER) a Device
// DAX; nothing if there is none, or it says that no deep flush is needed. ROOT: where sys is.
[[nodiscard]] std::optional<std::filesystem::path>
find_deep_flush(dev_t device, bool is_character, const std::filesystem::path& root = "/");

// The same, open for writing; -1 if there is none, or this process may not write to it.
[[nodiscard]] UniqueFd open_deep_flush(dev_t device, bool is_character);

// Asks the region for a deep flush. FILE is what open_deep_flush() returned; where that is -1
// nothing is to be done. 0 or a positive errno value.
[[nodiscard]] int deep_flush(int file);

[[nodiscard]] bool may_write(const std::filesystem::path& file);

} // namespace rpmem
