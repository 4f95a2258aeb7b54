// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/files/device.hpp"
#include "rpmemd/pools/files/part_creation.hpp"
#include "rpmemd/pools/files/part_directory.hpp"
#include "rpmemd/pools/headers/header_recovery.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/hidden_page.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/media_check.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/pools/pool_parts.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {
namespace {

static_assert(header_size == layout_page);

Result<> open_listed_parts(const PoolSet& pool_set, PendingParts& parts) {
    RPMEM_TRY(check_distinct(paths_of(pool_set)));
    for (const auto& expected : pool_set.parts) {
        RPMEM_TRY(parts.open(expected.path));
        RPMEM_TRY(check_part_size(expected, parts.parts().back()));
    }
    return {};
}

Result<> open_files_of(const PartDirectories& directories, PendingParts& parts) {
    RPMEM_TRY(directories.check_not_empty());
    RPMEM_TRY(check_distinct(directories.files()));
    for (const auto& path : directories.files())
        RPMEM_TRY(parts.open(path));
    return {};
}

// Adds part files if SIZE exceeds the pool.
Result<> grow(const PartDirectories& directories, std::uint64_t size, PendingParts& parts) {
    RPMEM_ASSIGN(const auto layout,
                 lay_out_parts(HeaderLayout::first_part_only, sizes_of(parts.parts())));
    if (size <= layout.size)
        return {};
    RPMEM_ASSIGN(const auto planned, directories.plan(size - layout.size));
    for (const auto& part : planned)
        RPMEM_TRY(parts.make(part.path, part.size));
    return {};
}

// Call it before anything is mapped, because an access to a bad block kills the process.
Result<> check_bad_blocks(const std::vector<PartFile>& parts) {
    for (const auto& part : parts) {
        const auto& name = part.path().native();
        RPMEM_ASSIGN(const bool bad,
                     in_context("the pool has the feature CHECK_BAD_BLOCKS, which only root can "
                                "check on some devices",
                                Device::of(part.fd(), name).and_then([](const Device& device) {
                                    return device.has_bad_blocks();
                                })));
        if (bad)
            return fail(ErrorClass::caller_fault, EINVAL,
                        "part {} has bad blocks; restore it with pmempool sync --bad-blocks", name);
    }
    return {};
}

Result<std::vector<PoolHeader>> headers_on_media(const MappedPool& pool,
                                                 const std::vector<PartFile>& parts) {
    std::vector<PoolHeader> headers;
    for (std::size_t i = 0; i < count_headers(parts, pool.header_layout); ++i) {
        RPMEM_ASSIGN(const auto header, header_of(pool, parts[i], i));
        headers.push_back(header);
    }
    return headers;
}

Result<std::optional<HeaderCopy>> load_copy(const MappedPool& pool) {
    if (pool.read_only)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "a read-only session cannot restore a header; open the pool for writing once");
    return pool.header_copy ? pool.header_copy->load() : std::nullopt;
}

Result<> restore_headers(MappedPool& pool, const std::vector<PartFile>& parts) {
    const auto torn = static_cast<std::size_t>(std::ranges::find_if(pool.headers, is_torn) -
                                               pool.headers.begin());
    const auto copy = load_copy(pool);
    auto restored = copy && *copy ? restore_torn(pool.headers, **copy) : pool.headers;
    if (copy && *copy && restored) {
        pool.headers = std::move(*restored);
        return {};
    }
    const std::string why = !copy       ? copy.error().text
                            : !restored ? restored.error().text
                                        : "there is no copy of its headers";
    return in_context(why, verify_alone(pool.headers[torn], parts[torn].path().native()));
}

bool has_record(const PartFile& first) {
    const auto attribute = PoolAttribute(first).read();
    return attribute && *attribute;
}

// Reads and verifies the headers. If a change of them was interrupted, POOL gets the headers as
// they are after recovery.
Result<> read_headers(MappedPool& pool, const std::vector<PartFile>& parts) {
    RPMEM_TRY(look_at_first_page(pool, parts.front()));
    RPMEM_ASSIGN(pool.headers, headers_on_media(pool, parts));
    if (pool.headers.empty())
        return {};
    if (has_torn(pool.headers))
        RPMEM_TRY(restore_headers(pool, parts));
    pool.headers = follow_first(std::move(pool.headers));
    const auto verified = verify_headers(pool.headers, names_of(parts), pool.header_layout);
    // The state-dir may be back later, so this is no sign of another pool: see Session::explain().
    if (!verified && is_all_zero(pool.headers[0]) && has_record(parts.front()))
        return fail(ErrorClass::resource_limit, EINVAL,
                    "if the pool was catching up, its first page is in another state-dir, or in "
                    "this one for a pool set with another name: {}",
                    verified.error().text);
    RPMEM_TRY(verified);
    pool.attributes = attributes_of(pool.headers[0]);
    if ((pool.attributes.compat_features & feature::compat_check_bad_blocks) != 0)
        RPMEM_TRY(check_bad_blocks(parts));
    return {};
}

Result<> check_shutdown(MappedPool& pool, const std::vector<PartFile>& parts) {
    if (!keeps_shutdown_state(pool))
        return {};
    RPMEM_ASSIGN(pool.devices, device_state_of(parts));
    return check_shutdown_state(pool.headers[0].shutdown_state, pool.devices, pool.name);
}

// Returns whether an earlier session marked the pool as cleanly closed, after all its syncs had
// succeeded. Otherwise the page cache may have pages that the medium has not: Linux reports a
// failed write-back only once, and another process may have received the error.
bool was_closed(const MappedPool& pool) {
    return keeps_shutdown_state(pool) && pool.headers[0].shutdown_state.dirty == 0;
}

// Writes the headers of POOL that differ from those on the medium. If this is interrupted, the next
// open repairs the headers, because the copy is not replaced while a header is torn.
Result<> repair_headers(const PoolOptions& options, const MappedPool& pool,
                        const std::vector<PartFile>& parts) {
    RPMEM_ASSIGN(const auto on_media, headers_on_media(pool, parts));
    if (std::ranges::equal(on_media, pool.headers, are_same_headers))
        return {};
    if (pool.read_only) {
        pool.log.warning("pool {}: a change of its attributes was interrupted; those of the first "
                         "part are used; the next session that may write repairs the other parts",
                         pool.name);
        return {};
    }
    if (!has_torn(on_media))
        keep_header_copy(pool, on_media);
    for (std::size_t i = on_media.size(); i-- > 0;) {
        if (are_same_headers(on_media[i], pool.headers[i]))
            continue;
        const auto& name = parts[i].path().native();
        pool.log.warning("pool {}: a change of its attributes was interrupted; the header of part "
                         "{} {}",
                         pool.name, name,
                         is_torn(on_media[i]) ? "was torn and is restored from its copy"
                                              : "is adapted to that of the first part");
        const auto written = write_header_of(pool, parts[i], i);
        if (!written && options.failures)
            options.failures->set(name, 0, header_size, written.error().code);
        RPMEM_TRY(written);
    }
    return {};
}

Result<> map_pool(const PoolOptions& options, const std::vector<PartFile>& parts, std::size_t size,
                  MappedPool& pool) {
    RPMEM_ASSIGN(const auto layout, lay_out_parts(pool.header_layout, sizes_of(parts)));
    RPMEM_TRY(check_pool_size(size, layout.size));
    RPMEM_ASSIGN(auto mapping, map_parts(parts, layout));
    RPMEM_TRY(check_media(options, parts, mapping.on_pmem, pool.log));
    pool.memory = std::move(mapping.memory);
    pool.medium = std::move(mapping.medium);
    return {};
}

// Opens the parts and checks the headers. Only then adds part files if necessary, so that an
// invalid pool does not grow.
Result<> open_parts(const PoolOptions& options, const PoolSet& pool_set, std::size_t size,
                    MappedPool& pool, PendingParts& parts) {
    RPMEM_ASSIGN(const auto with_directories, uses_directories(pool_set));
    std::optional<PartDirectories> directories;
    if (with_directories) {
        RPMEM_ASSIGN(directories, PartDirectories::scan(pool_set));
        RPMEM_TRY(directories->check_complete());
        RPMEM_TRY(open_files_of(*directories, parts));
    } else {
        RPMEM_TRY(open_listed_parts(pool_set, parts));
    }
    RPMEM_TRY(open_first_page(options, parts.parts().front(), pool));
    if (!pool.read_only)
        RPMEM_TRY(
            open_header_copy(options, count_headers(parts.parts(), pool.header_layout), pool));
    RPMEM_TRY(read_headers(pool, parts.parts()));
    return pool.read_only || !directories ? Result<>() : grow(*directories, size, parts);
}

Result<Pool> open(const PoolOptions& options, const PoolSet& pool_set, std::string_view name,
                  std::size_t size, Log& log) {
    auto pool = std::make_unique<MappedPool>();
    pool->name = name;
    pool->read_only = options.read_only;
    pool->header_layout = pool_set.headers;
    pool->log = log;
    PendingParts parts(pool_set.headers, rules_of(options));
    RPMEM_TRY(open_parts(options, pool_set, size, *pool, parts));
    RPMEM_TRY(check_shutdown(*pool, parts.parts()));
    RPMEM_TRY(parts.make_durable());
    if (!was_closed(*pool)) {
        drop_cache(parts.parts());
        // The headers were read from the page cache, too.
        RPMEM_TRY(read_headers(*pool, parts.parts()));
        RPMEM_TRY(check_shutdown(*pool, parts.parts()));
    }
    if (!pool->read_only)
        RPMEM_TRY(settle_first_page(*pool, parts.parts().front()));
    RPMEM_TRY(repair_headers(options, *pool, parts.parts()));
    RPMEM_TRY(map_pool(options, parts.parts(), size, *pool));
    pool->parts = parts.keep();
    const std::size_t part_count = pool->parts.size();
    const bool was_left_open = !was_closed(*pool);
    Pool opened(std::move(pool));
    // A daemon that was killed may have stored data that it did not flush. This session would read
    // it, although the next loss of power could remove it.
    if (was_left_open)
        opened.flush();
    auto marked = opened.mark_open();
    if (const auto failure = opened.medium_failure(); !marked && failure && options.failures)
        options.failures->set(*failure);
    RPMEM_TRY(std::move(marked));
    log.info("opened pool {}{}: {} bytes in {} part(s)", name,
             options.read_only ? " read-only" : "", opened.size(), part_count);
    return opened;
}

} // namespace

Result<Pool> open_pool(const PoolOptions& options, std::string_view name, std::size_t size,
                       Log& log) {
    RPMEM_ASSIGN(const auto pool_set, load_pool_set(options, name));
    return in_context(fmt::format("opening pool {}", name),
                      open(options, pool_set, name, size, log));
}

} // namespace rpmem::target
