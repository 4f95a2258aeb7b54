// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/files/part_creation.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/hidden_page.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/media_check.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/pools/pool_parts.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"

#include <cerrno>
#include <chrono>

namespace rpmem::target {
namespace {

std::uint64_t now() {
    return static_cast<std::uint64_t>(
        std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

// Builds the headers and their shutdown state. Writes nothing.
Result<> prepare_headers(MappedPool& pool, const std::vector<PartFile>& parts,
                         const rpmem_pool_attr& attributes) {
    std::vector<Uuid> uuids(count_headers(parts, pool.header_layout));
    if (uuids.empty())
        return {};
    for (auto& uuid : uuids)
        uuid = random_uuid();
    pool.headers = build_headers(attributes, uuids, now());
    pool.attributes = attributes_of(pool.headers[0]);
    if (!keeps_shutdown_state(pool))
        return {};
    RPMEM_ASSIGN(pool.devices, device_state_of(parts));
    pool.headers[0].shutdown_state = make_shutdown_state(pool.devices, true);
    seal(pool.headers[0]);
    return {};
}

// A part of which the first page is hidden looks unused. If the page is in another state-dir, or
// saved for another pool set, the record of the part shows that: see Registration::claim().
Result<> open_unused_page(const PoolOptions& options, const PartFile& first, MappedPool& pool) {
    RPMEM_TRY(open_first_page(options, first, pool));
    if (!pool.first_page || !pool.first_page->saved())
        return {};
    return fail(ErrorClass::caller_fault, EEXIST,
                "part {} holds a pool that is catching up; remove it first", first.path().native());
}

Result<Pool> create(const PoolOptions& options, const PoolSet& pool_set, std::string_view name,
                    std::size_t size, const rpmem_pool_attr& attributes, Log& log) {
    RPMEM_TRY(check_attributes(attributes, pool_set.headers));
    RPMEM_TRY(check_distinct(paths_of(pool_set)));
    RPMEM_ASSIGN(auto claimed, PendingParts::claim(pool_set, size, rules_of(options)));
    RPMEM_ASSIGN(const auto layout, lay_out_parts(pool_set.headers, sizes_of(claimed.parts())));
    RPMEM_ASSIGN(auto mapping, map_parts(claimed.parts(), layout));
    RPMEM_TRY(check_media(options, claimed.parts(), mapping.on_pmem, log));

    auto pool = std::make_unique<MappedPool>();
    pool->name = name;
    pool->header_layout = pool_set.headers;
    pool->memory = std::move(mapping.memory);
    pool->medium = std::move(mapping.medium);
    pool->log = log;
    RPMEM_TRY(open_unused_page(options, claimed.parts().front(), *pool));
    RPMEM_TRY(prepare_headers(*pool, claimed.parts(), attributes));
    RPMEM_TRY(open_header_copy(options, pool->headers.size(), *pool));
    RPMEM_TRY(claimed.write_headers(pool->headers));
    RPMEM_TRY(claimed.make_durable());
    log.info("created pool {}: {} bytes in {} part(s)", name, layout.size, claimed.parts().size());
    pool->parts = claimed.keep(); // nothing may throw after this: it would not undo the creation
    return Pool(std::move(pool));
}

} // namespace

Result<Pool> create_pool(const PoolOptions& options, std::string_view name, std::size_t size,
                         const rpmem_pool_attr& attributes, Log& log) {
    RPMEM_ASSIGN(const auto pool_set, load_pool_set(options, name));
    // Before the pool is created, because an exception afterwards would not undo the creation.
    std::string context = fmt::format("creating pool {}", name);
    return in_context(std::move(context), create(options, pool_set, name, size, attributes, log));
}

} // namespace rpmem::target
