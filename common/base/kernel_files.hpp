// SPDX-License-Identifier: BSD-3-Clause
// Reads small files of /sys and /proc.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace rpmem {

// Returns the first line of FILE, or an empty string if it cannot be read.
[[nodiscard]] std::string line_of(const std::filesystem::path& file);

// Returns the names in DIRECTORY, sorted. Returns none if it cannot be read.
[[nodiscard]] inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace rpmem
