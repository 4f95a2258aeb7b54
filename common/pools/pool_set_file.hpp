// SPDX-License-Identifier: BSD-3-Clause
// The text of a pool set file (poolset(5)) as a value.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace rpmem {

// Bounds that keep a hostile or mistaken file from costing memory or descriptors.
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
    std::optional<std::uint64_t> size; // empty: AUTO, the size of the Device DAX
};

struct PoolSet {
    HeaderLayout headers = HeaderLayout::every_part;
    std::vector<PoolSetPart> parts; // never empty
};

// The first line is that of a pool set file.
bool begins_as_pool_set(std::string_view text);

// Sections that begin with REPLICA: an error, or ignored, so that the parts of the pool itself
// remain.
enum class Replicas { refused, ignored };

// NAME is what messages call the file. Every error is EINVAL and names file, line and text; the
// text only if the file begins as a pool set: any other might be anybody's secret.
Result<PoolSet> parse_pool_set(std::string_view text, std::string_view name,
                               Replicas replicas = Replicas::refused);

// "64M", "64MiB" (powers of 1024), "64MB" (powers of 1000), "64B", "64"; nothing if it is no size.
std::optional<std::uint64_t> parse_part_size(std::string_view text);

} // namespace rpmem
