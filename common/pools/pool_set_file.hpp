// SPDX-License-Identifier: BSD-3-Clause
// Parses the text of a pool set file, see poolset(5).
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace rpmem {

// Limits on the memory and the descriptors that a malformed file can use.
inline constexpr std::size_t max_pool_set_file_size = std::size_t{1} << 20;
inline constexpr std::size_t max_pool_set_lines = 16384;
inline constexpr std::size_t max_pool_set_parts = 1024;

// The parts of a pool that start with a header page.
enum class HeaderLayout {
    every_part,
    first_part_only, // OPTION SINGLEHDR
    none,            // OPTION NOHDRS
};

struct PoolSetPart {
    std::filesystem::path path;        // absolute: a file, a directory or a Device DAX
    std::optional<std::uint64_t> size; // empty for AUTO: that of the Device DAX
};

struct PoolSet {
    HeaderLayout headers = HeaderLayout::every_part;
    std::vector<PoolSetPart> parts; // never empty
};

// Returns whether the first line is that of a pool set file.
bool begins_as_pool_set(std::string_view text);

// How to treat sections that begin with REPLICA: as an error, or skipped, so that the result has
// only the parts of the pool itself.
enum class Replicas { refused, ignored };

// NAME is the name of the file in error texts. Every error is EINVAL, with the file and, unless the
// file is too large, the line. The error quotes the line only if the file begins as a pool set,
// because any other file may be confidential.
Result<PoolSet> parse_pool_set(std::string_view text, std::string_view name,
                               Replicas replicas = Replicas::refused);

// Parses "64M", "64MiB" (powers of 1024), "64MB" (powers of 1000), "64B" or "64". Returns nothing
// for any other text.
std::optional<std::uint64_t> parse_part_size(std::string_view text);

} // namespace rpmem
