// SPDX-License-Identifier: BSD-3-Clause
// Configuration files, with one "key = value" per line.
#pragma once

#include "rpmemd/settings/settings.hpp"

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace rpmem::target {

inline constexpr std::size_t max_configuration_file_size = std::size_t{64} * 1024;
// Enough for the lines of describe(): a value, and in a comment the file that it comes from.
inline constexpr std::size_t max_configuration_line_size = 3 * (max_setting_size + 1);

// Fails with EINVAL if TEXT is invalid. The error text contains FILE, the line number and the
// beginning of the line.
[[nodiscard]] Result<Layer> parse_configuration(std::string_view text,
                                                const std::filesystem::path& file);

// Reads and parses FILE. Fails with EACCES if other users may change it, with EFBIG if it is too
// large, with EINVAL like parse_configuration() or if it is not a regular file, and with the errno
// values of open(2) and read(2).
[[nodiscard]] Result<Layer> read_configuration_file(const std::filesystem::path& file);

} // namespace rpmem::target
