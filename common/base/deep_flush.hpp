// The file of the kernel by which a process asks persistent memory for a deep flush, and whether
// this process may write to it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace rpmem {

// deep_flush of the region that has the device DEVICE, a block device or (IS_CHARACTER) a Device
// DAX; nothing if there is none, or it says that no deep flush is needed. ROOT: where sys is.
[[nodiscard]] std::optional<std::filesystem::path>
find_deep_flush(dev_t device, bool is_character, const std::filesystem::path& root = "/");

[[nodiscard]] bool may_write(const std::filesystem::path& file);

} // namespace rpmem
