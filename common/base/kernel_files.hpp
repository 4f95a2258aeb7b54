// SPDX-License-Identifier: BSD-3-Clause
// Reading what the kernel tells in small files: /sys and /proc.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace rpmem {

// The first line of a small file; empty if it cannot be read.
[[nodiscard]] std::string line_of(const std::filesystem::path& file);

// The names in a directory, in order; none if it cannot be read.
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
