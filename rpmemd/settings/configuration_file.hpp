// SPDX-License-Identifier: BSD-3-Clause
// Configuration files: one "key = value" a line.
#pragma once

#include "rpmemd/settings/settings.hpp"

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace rpmem::target {

inline constexpr std::size_t max_configuration_file_size = std::size_t{64} * 1024;
// A value, and behind it in a comment the file that it came from, as describe() writes them.
inline constexpr std::size_t max_configuration_line_size = 3 * (max_setting_size + 1);

// FILE is only named in errors, with the number of the line and the line. EINVAL.
[[nodiscard]] Result<Layer> parse_configuration(std::string_view text,
                                                const std::filesystem::path& file);

// As parse_configuration(); ENOENT, EACCES, ... if FILE cannot be read, EFBIG if it is too large.
[[nodiscard]] Result<Layer> read_configuration_file(const std::filesystem::path& file);

} // namespace rpmem::target
