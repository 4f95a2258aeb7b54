// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/examine_pool.hpp"

#include "common/base/medium_kind.hpp"
#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/part_directory.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/pools/hidden_page.hpp"
#include "rpmemd/pools/pool_parts.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::target {
namespace {

// Returns whether another process has an exclusive lock. Tests that with a shared lock, which does
// not conflict with the shared locks of sessions that only read.
bool is_locked(const PartFile& part) {
    if (flock(part.fd(), LOCK_SH | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(part.fd(), LOCK_UN);
    return false;
}

void note_problem(PartFacts& facts, Error error) {
    facts.problem = std::move(error.text);
    facts.code = error.code;
}

std::optional<PartFile> examine_part(PartFacts& facts, PartRules rules) {
    rules.read_only = true;
    rules.unlocked = true;
    auto part = PartFile::open(facts.path, rules);
    if (!part) {
        facts.refused_by_mode = is_refused_by_mode(facts.path, rules.mode);
        note_problem(facts, std::move(part).error());
        return std::nullopt;
    }
    struct stat status {};
    if (fstat(part->fd(), &status) == 0)
        facts.allocated = static_cast<std::uint64_t>(status.st_blocks) * 512; // see stat(3type)
    facts.size = part->size();
    facts.modified = part->modified();
    facts.device_dax = part->is_device_dax();
    facts.locked = is_locked(*part);
    const MediumName medium = facts.device_dax ? MediumName{} : medium_of(part->fd());
    facts.file_system = medium.file_system;
    facts.medium = medium.kind == MediumKind::lasting ? "" : describe(medium.kind);
    if (facts.set_size && *facts.set_size != facts.size)
        note_problem(facts, invalid("part {} has {} bytes, the pool set file says {}",
                                    facts.path.native(), facts.size, *facts.set_size)
                                .value());
    return std::optional(std::move(*part));
}

Result<std::vector<PartFacts>> planned_parts(const PoolSet& pool_set) {
    std::vector<PartFacts> parts;
    RPMEM_ASSIGN(const bool directories, uses_directories(pool_set));
    if (!directories) {
        for (const PoolSetPart& part : pool_set.parts)
            parts.push_back({.path = part.path, .set_size = part.size});
        return parts;
    }
    RPMEM_ASSIGN(const auto scanned, PartDirectories::scan(pool_set));
    for (const auto& file : scanned.files())
        parts.push_back({.path = file});
    return parts;
}

void examine_first(const PoolOptions& options, std::string_view name, PoolFacts& pool,
                   const PartFile& first) {
    pool.attribute = PoolAttribute(first).read();
    if (auto identity = identify(first))
        pool.first_part = std::move(*identity);
    if (!has_header(pool.headers, 0))
        return;
    const auto header = first.read_header();
    const auto sound =
        header ? verify_alone(*header, first.path().native()) : Result<>(Failure(header.error()));
    if (sound)
        pool.header = *header;
    else if (pool.header = hidden_header(options, name, first); !pool.header)
        pool.header_problem = sound.error().text;
}

} // namespace

Result<PoolFacts> examine_pool(const PoolOptions& options, std::string_view name) {
    RPMEM_ASSIGN(const auto pool_set, load_pool_set(options, name));
    PoolFacts pool{.headers = pool_set.headers};
    RPMEM_ASSIGN(pool.parts, planned_parts(pool_set));
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < pool.parts.size(); ++i) {
        PartFacts& facts = pool.parts[i];
        if (facts.path.empty()) {
            note_problem(facts, PartDirectories::no_such_file(i).value());
            continue;
        }
        const auto part = examine_part(facts, rules_of(options));
        if (!part)
            continue;
        sizes.push_back(facts.size);
        if (i == 0)
            examine_first(options, name, pool, *part);
    }
    std::vector<std::filesystem::path> paths = paths_of(pool_set);
    if (const auto same = find_same_file(paths); same && same->second < pool.parts.size())
        note_problem(pool.parts[same->second], describe(*same, paths).value());
    paths.clear();
    for (const PartFacts& part : pool.parts)
        paths.push_back(part.path);
    if (const auto same = find_same_file(paths))
        note_problem(pool.parts[same->second], describe(*same, paths).value());
    if (const auto layout = lay_out_parts(pool.headers, sizes);
        layout && sizes.size() == pool.parts.size() && !sizes.empty())
        pool.size = layout->size;
    return pool;
}

} // namespace rpmem::target
