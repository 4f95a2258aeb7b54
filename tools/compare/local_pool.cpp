// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/local_pool.hpp"

#include "common/base/io.hpp"
#include "common/pools/pool_set_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::compare {
namespace {

// Returns the text of a pool set file. Returns nothing if PATH is another file or cannot be read.
std::optional<std::string> pool_set_text(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    constexpr std::size_t first_line = 13; // bytes of PMEMPOOLSET and CR LF
    std::string text(first_line, '\0');
    if (read_file(fd.get(), text) != 0 || !begins_as_pool_set(text))
        return std::nullopt;
    std::string rest(max_pool_set_file_size, '\0');
    if (read_file(fd.get(), rest) != 0)
        return std::nullopt;
    return text + rest;
}

// Returns the path of the first part. An interrupted pull leaves it with partial_suffix in its
// name.
Result<std::string> find_first(const std::string& part, LocalPool::Interrupted interrupted) {
    std::string partial = part + std::string(partial_suffix);
    if (::access(part.c_str(), F_OK) == 0 || ::access(partial.c_str(), F_OK) != 0)
        return part;
    if (interrupted == LocalPool::Interrupted::accepted)
        return partial;
    return fail(
        ErrorClass::caller_fault, ENOENT,
        "part {} is called {}, because an rpmemctl pull was interrupted; run the pull again", part,
        partial);
}

} // namespace

LocalPool LocalPool::image(PoolFile file) {
    LocalPool pool;
    pool.name_ = file.path();
    pool.first_part_ = file.path();
    pool.layout_ = {.parts = {{0, 0, file.size()}}, .size = file.size()};
    pool.files_.push_back(std::move(file));
    return pool;
}

Result<std::optional<LocalPool>>
LocalPool::open_pool_set(const std::string& path, PoolFile::Use use, Interrupted interrupted) {
    const auto text = pool_set_text(path);
    if (!text)
        return std::optional<LocalPool>();
    RPMEM_ASSIGN(const auto set, parse_pool_set(*text, path, Replicas::ignored));
    LocalPool pool;
    pool.name_ = path;
    pool.is_pool_set_ = true;
    pool.has_header_ = set.headers != HeaderLayout::none;
    pool.first_part_ = set.parts.front().path.native();
    RPMEM_ASSIGN(const auto first, find_first(pool.first_part_, interrupted));
    std::vector<std::uint64_t> sizes;
    for (const PoolSetPart& part : set.parts) {
        struct stat status {};
        if (::stat(part.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
            return invalid(
                "part {} of {} is not a regular file; a directory or a Device DAX cannot "
                "be compared",
                part.path.native(), path);
        RPMEM_ASSIGN(auto file, PoolFile::open(sizes.empty() ? first : part.path.native(), use));
        sizes.push_back(file.size());
        pool.files_.push_back(std::move(file));
    }
    RPMEM_ASSIGN(pool.layout_, in_context(path, lay_out_parts(set.headers, sizes)));
    return std::optional(std::move(pool));
}

Result<LocalPool> LocalPool::open(const std::string& path, PoolFile::Use use,
                                  Interrupted interrupted) {
    RPMEM_ASSIGN(auto set, open_pool_set(path, use, interrupted));
    if (set)
        return std::move(*set);
    RPMEM_ASSIGN(auto file, PoolFile::open(path, use));
    return image(std::move(file));
}

Result<> LocalPool::each_part(
    Range range, const std::function<Result<>(const PoolFile&, Range, std::uint64_t)>& call) const {
    const std::uint64_t begin = range.begin;
    for (std::size_t i = 0; i < files_.size() && range.size() > 0; ++i) {
        const PartPlacement& place = layout_.parts[i];
        const std::uint64_t end = place.pool_offset + place.length;
        if (range.begin >= end)
            continue;
        const std::uint64_t length = std::min(range.end, end) - range.begin;
        const std::uint64_t in_file = place.file_offset + (range.begin - place.pool_offset);
        RPMEM_TRY(call(files_[i], {in_file, in_file + length}, range.begin - begin));
        range.begin += length;
    }
    if (range.size() > 0)
        return fail(ErrorClass::bug, ERANGE, "{} bytes at offset {} are beyond the {} of {}",
                    range.size(), range.begin, size(), name_);
    return {};
}

bool LocalPool::is_hole(Range range) const {
    const auto found = each_part(range, [](const PoolFile& file, Range part, std::uint64_t) {
        return file.is_hole(part) ? Result<>() : Result<>(invalid("data"));
    });
    return found.has_value();
}

Result<> LocalPool::read(std::uint64_t offset, std::span<std::byte> buffer) const {
    return each_part({offset, offset + buffer.size()},
                     [&](const PoolFile& file, Range part, std::uint64_t at) {
                         return file.read(part.begin, buffer.subspan(at, part.size()));
                     });
}

Result<> LocalPool::write(std::uint64_t offset, std::span<const std::byte> data) const {
    return each_part({offset, offset + data.size()},
                     [&](const PoolFile& file, Range part, std::uint64_t at) {
                         return file.write(part.begin, data.subspan(at, part.size()));
                     });
}

Result<> LocalPool::clear(Range range) const {
    return each_part(
        range, [](const PoolFile& file, Range part, std::uint64_t) { return file.clear(part); });
}

Result<> LocalPool::make_durable() const {
    for (const PoolFile& file : files_)
        RPMEM_TRY(file.make_durable());
    return {};
}

Result<Side> LocalPool::side() const {
    Side side{.name = name_, .size = size()};
    std::array<std::byte, header_length> first{};
    if (has_header_ && size() >= first.size()) {
        RPMEM_TRY(read(0, first));
        side.identity = identity_in(first);
    }
    side.has_header = side.identity.has_value();
    return side;
}

PoolBytes LocalPool::bytes() const {
    return {.read = [this](std::uint64_t offset,
                           std::span<std::byte> buffer) { return read(offset, buffer); },
            .is_hole = [this](Range range) { return is_hole(range); },
            .size = size()};
}

} // namespace rpmem::compare
