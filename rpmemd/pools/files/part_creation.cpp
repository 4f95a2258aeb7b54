// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_creation.hpp"

#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/files/part_directory.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/pool_parts.hpp"

#include <algorithm>
#include <optional>

namespace rpmem::target {
namespace {

// Returns nothing if the file does not exist and must be created.
Result<std::optional<PartFile>> find_part(const PoolSetPart& expected, const PartRules& rules) {
    auto opened = PartFile::open(expected.path, rules);
    if (!opened && opened.error().code == ENOENT) {
        if (expected.size)
            return std::nullopt;
        return invalid("part {} has size AUTO but does not exist; AUTO is for Device DAX",
                       expected.path.native());
    }
    RPMEM_ASSIGN(auto part, std::move(opened));
    if (expected.size && !part.is_device_dax() && part.size() != *expected.size)
        return fail(ErrorClass::caller_fault, EEXIST,
                    "part {}: there is a file of {} bytes already, the pool set file says {}; "
                    "correct the size, or remove the file if nothing needs it",
                    part.path().native(), part.size(), *expected.size);
    RPMEM_TRY(check_part_size(expected, part));
    return part;
}

Result<> check_unused(const PartFile& part) {
    RPMEM_ASSIGN(const auto header, part.read_header());
    if (is_all_zero(header))
        return {};
    return fail(ErrorClass::caller_fault, EEXIST,
                "part {} holds a pool, or data where the header would be; remove it first",
                part.path().native());
}

} // namespace

PendingParts::PendingParts(PendingParts&& other) noexcept
    : layout_(other.layout_), rules_(std::move(other.rules_)),
      parts_(std::exchange(other.parts_, {})), headers_written_(other.headers_written_) {}

PendingParts::~PendingParts() {
    // Errors are ignored, because the caller reports the first one.
    for (std::size_t i = 0; i < parts_.size(); ++i)
        static_cast<void>(parts_[i].undo(headers_written_ && has_header(layout_, i)));
}

Result<PendingParts> PendingParts::claim(const PoolSet& pool_set, std::uint64_t size,
                                         PartRules rules) {
    RPMEM_ASSIGN(const auto directories, uses_directories(pool_set));
    PendingParts result(pool_set.headers, std::move(rules));
    if (directories)
        RPMEM_TRY(result.claim_in_directories(pool_set, size));
    else
        RPMEM_TRY(result.claim_files(pool_set, size));
    return result;
}

Result<> PendingParts::claim_files(const PoolSet& pool_set, std::uint64_t size) {
    std::vector<std::optional<PartFile>> found;
    std::vector<std::uint64_t> sizes;
    for (const auto& expected : pool_set.parts) {
        RPMEM_ASSIGN(auto part, find_part(expected, rules_));
        sizes.push_back(part ? part->size() : *expected.size);
        found.push_back(std::move(part));
    }
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] && has_header(layout_, i))
            RPMEM_TRY(check_unused(*found[i]));
    RPMEM_ASSIGN(const auto layout, lay_out_parts(pool_set.headers, sizes));
    RPMEM_TRY(check_pool_size(size, layout.size));
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i]) {
            RPMEM_TRY(found[i]->allocate(rules_.cancelled));
            add(std::move(*found[i]));
        } else {
            RPMEM_TRY(make(pool_set.parts[i].path, sizes[i]));
        }
    }
    return {};
}

Result<> PendingParts::claim_in_directories(const PoolSet& pool_set, std::uint64_t size) {
    RPMEM_ASSIGN(const auto directories, PartDirectories::scan(pool_set));
    RPMEM_TRY(directories.check_complete());
    if (!directories.files().empty()) {
        const auto& first = directories.files().front();
        RPMEM_TRY(PartFile::open(first, rules_));
        return fail(ErrorClass::caller_fault, EEXIST, "the pool has part file {} already",
                    first.native());
    }
    RPMEM_ASSIGN(const auto planned,
                 directories.plan(std::max<std::uint64_t>(size, RPMEM_MIN_PART)));
    for (const auto& part : planned)
        RPMEM_TRY(make(part.path, part.size));
    return {};
}

Result<> PendingParts::make(const std::filesystem::path& path, std::uint64_t size) {
    // Reserve memory before the file exists, because a part that cannot be added is not undone.
    parts_.reserve(parts_.size() + 1);
    RPMEM_ASSIGN(auto part, PartFile::make(path, size, rules_));
    add(std::move(part));
    return {};
}

Result<> PendingParts::open(const std::filesystem::path& path) {
    RPMEM_ASSIGN(auto part, PartFile::open(path, rules_));
    add(std::move(part));
    return {};
}

Result<> PendingParts::write_headers(const std::vector<PoolHeader>& headers) {
    headers_written_ = true;
    for (std::size_t i = 0; i < headers.size(); ++i)
        if (const auto written = parts_[i].write_header(headers[i]); !written)
            return failed(parts_[i], header_size, written.error());
    return {};
}

Failure PendingParts::failed(const PartFile& part, std::uint64_t length, const Error& error) const {
    if (rules_.failures)
        rules_.failures->set(part.path().native(), 0, length, error.code);
    return Failure(error);
}

Result<> PendingParts::make_durable() const {
    Result<> result;
    for (const auto& part : parts_)
        if (const auto durable = part.make_durable(); !durable && result)
            result = failed(part, part.size(), durable.error());
    // The next sync of the same pages would succeed, although they are not on the medium. So drop
    // them, and the next session reads what the medium has.
    if (!result)
        drop_cache(parts_);
    return result;
}

std::vector<PartFile> PendingParts::keep() { return std::exchange(parts_, {}); }

} // namespace rpmem::target
