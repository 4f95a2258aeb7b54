// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/deep_flush.hpp"

#include "common/base/kernel_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace rpmem {

std::optional<std::filesystem::path> find_deep_flush(dev_t device, bool is_character,
                                                     const std::filesystem::path& root) {
    const auto link = root / "sys/dev" / (is_character ? "char" : "block") /
                      fmt::format("{}:{}", major(device), minor(device));
    std::error_code none;
    const auto start = std::filesystem::canonical(link, none);
    if (none)
        return std::nullopt;
    // The directory of the region is an ancestor of the directory of the device.
    for (auto directory = start; directory.has_relative_path(); directory = directory.parent_path())
        if (auto file = directory / "deep_flush"; std::filesystem::exists(file, none))
            return line_of(file) == "1" ? std::optional(file) : std::nullopt;
    return std::nullopt;
}

UniqueFd open_deep_flush(dev_t device, bool is_character) {
    const auto file = find_deep_flush(device, is_character);
    return UniqueFd(file ? ::open(file->c_str(), O_WRONLY | O_CLOEXEC) : -1);
}

int deep_flush(int file) { return file < 0 || ::pwrite(file, "1", 1, 0) == 1 ? 0 : errno; }

bool may_write(const std::filesystem::path& file) {
    return ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0;
}

} // namespace rpmem
