// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_directory.hpp"

#include "common/base/text.hpp"
#include "common/pools/part_layout.hpp"

#include <fmt/format.h>
#include <librpmem.h>

#include <algorithm>
#include <optional>
#include <system_error>

namespace rpmem::target {
namespace {

constexpr std::uint64_t growth = std::uint64_t{128} << 20; // default size of a new file
constexpr std::uint64_t many_files = 256;                  // if more are needed, each is larger
constexpr std::size_t digits = 6;
constexpr std::string_view extension = ".pmem";

std::optional<std::size_t> number_of(const std::string& name) {
    if (name.size() != digits + extension.size() || !name.ends_with(extension))
        return std::nullopt;
    return parse_number<std::size_t>(std::string_view(name).substr(0, digits));
}

Failure cannot_list(const std::filesystem::path& path, const std::error_code& error) {
    return fail(ErrorClass::caller_fault, error.value(), "cannot list directory {}: {}",
                path.native(), error.message());
}

std::uint64_t round_up(std::uint64_t size) {
    return (size + layout_page - 1) / layout_page * layout_page;
}

} // namespace

Result<bool> uses_directories(const PoolSet& pool_set) {
    const auto is_directory = [](const PoolSetPart& part) {
        std::error_code ignored; // opening the part reports it
        return std::filesystem::is_directory(part.path, ignored);
    };
    const auto count = std::ranges::count_if(pool_set.parts, is_directory);
    if (count == 0)
        return false;
    if (static_cast<std::size_t>(count) != pool_set.parts.size())
        return invalid("the pool set mixes directories and files; name only one kind");
    if (pool_set.headers != HeaderLayout::first_part_only)
        return invalid("a pool set of directories needs OPTION SINGLEHDR");
    if (!std::ranges::all_of(pool_set.parts,
                             [](const auto& part) { return part.size.has_value(); }))
        return invalid(
            "a directory needs a size, the maximum for its files; AUTO is for Device DAX");
    return true;
}

Result<PartDirectories> PartDirectories::scan(const PoolSet& pool_set) {
    PartDirectories result;
    for (const auto& part : pool_set.parts)
        RPMEM_TRY(result.scan_directory(part));
    return result;
}

Failure PartDirectories::no_such_file(std::size_t number) {
    return fail(ErrorClass::caller_fault, ENOENT,
                "part file {:06}.pmem is in none of the pool set's directories", number);
}

Result<> PartDirectories::check_not_empty() const {
    if (!files_.empty())
        return {};
    return fail(ErrorClass::caller_fault, ENOENT,
                "the directories of the pool set have no part files");
}

Result<> PartDirectories::check_complete() const {
    const auto missing = std::ranges::find(files_, std::filesystem::path());
    if (missing != files_.end())
        return no_such_file(static_cast<std::size_t>(missing - files_.begin()));
    return {};
}

Result<> PartDirectories::scan_directory(const PoolSetPart& part) {
    auto& directory = directories_.emplace_back(Directory{part.path, part.size.value_or(0), 0});
    std::error_code error;
    std::filesystem::directory_iterator entry(part.path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        if (number_of(entry->path().filename().native()))
            RPMEM_TRY(add_file(directory, entry->path()));
    if (error)
        return cannot_list(part.path, error);
    if (directory.used > directory.capacity)
        return invalid("the part files in {} have {} bytes, the pool set file allows {}; raise it",
                       directory.path.native(), directory.used, directory.capacity);
    return {};
}

Result<> PartDirectories::add_file(Directory& directory, const std::filesystem::path& path) {
    const auto number = number_of(path.filename().native()).value_or(0);
    if (number >= max_pool_set_parts)
        return invalid("part file {} has number {}; the maximum is {}", path.native(), number,
                       max_pool_set_parts - 1);
    if (files_.size() <= number)
        files_.resize(number + 1);
    if (!files_[number].empty())
        return invalid("part files {} and {} have the same number", files_[number].native(),
                       path.native());
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error)
        return cannot_list(path, error);
    directory.used += size;
    files_[number] = path;
    return {};
}

Result<std::vector<PlannedPart>> PartDirectories::plan(std::uint64_t size) const {
    auto directories = directories_;
    std::vector<PlannedPart> planned;
    const auto step = std::max(growth, round_up(size / many_files));
    while (size > 0) {
        // A directory without room for the smallest part counts as full.
        const auto room = [](const Directory& directory) {
            const auto left = (directory.capacity - directory.used) / layout_page * layout_page;
            return left < RPMEM_MIN_PART ? 0 : left;
        };
        const auto emptiest = std::ranges::min_element(directories, {}, [&](const auto& candidate) {
            return room(candidate) == 0 ? UINT64_MAX : candidate.used;
        });
        const auto number = files_.size() + planned.size();
        if (number >= max_pool_set_parts)
            return fail(ErrorClass::caller_fault, EFBIG,
                        "the directories of the pool set cannot take {} more bytes, because they "
                        "would have more than {} part files",
                        size, max_pool_set_parts);
        if (emptiest == directories.end() || room(*emptiest) == 0)
            return fail(
                ErrorClass::caller_fault, EFBIG,
                "the directories of the pool set have no room for {} more bytes; raise their "
                "sizes in the pool set file",
                size);
        const auto wanted = std::max<std::uint64_t>(round_up(std::min(size, step)), RPMEM_MIN_PART);
        const auto length = std::min(wanted, room(*emptiest));
        planned.push_back({emptiest->path / fmt::format("{:06}.pmem", number), length});
        emptiest->used += length;
        size -= std::min(size, length);
    }
    return planned;
}

} // namespace rpmem::target
