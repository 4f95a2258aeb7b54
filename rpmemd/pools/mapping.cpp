// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/mapping.hpp"

#include "rpmemd/pools/hidden_page.hpp"
#include "rpmemd/pools/pool.hpp"

#include <libpmem.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace rpmem::target {
namespace {

// Alignment with which a DAX file system can use large pages.
constexpr std::size_t large_page = std::size_t{2} << 20;

constexpr int synchronous = MAP_SHARED_VALIDATE | MAP_SYNC;

// Tests MAP_SYNC with a mapping elsewhere. A MAP_FIXED mapping that the file system refuses may
// have removed the reservation under it already.
bool maps_synchronously(const PartFile& part) {
    const auto length = std::max<std::size_t>(part.alignment(), layout_page);
    void* probe = mmap(nullptr, length, part.protection(), synchronous, part.fd(), 0);
    if (probe == MAP_FAILED)
        return false;
    munmap(probe, length);
    return true;
}

Result<> check_alignment(const PartFile& part, const PartPlacement& placement,
                         const std::byte* address) {
    if ((placement.file_offset | placement.length | reinterpret_cast<std::uintptr_t>(address)) %
            part.alignment() ==
        0)
        return {};
    return invalid("Device DAX {} can only be mapped in steps of {} bytes; use OPTION SINGLEHDR or "
                   "NOHDRS and make the parts before it multiples of that",
                   part.path().native(), part.alignment());
}

// Returns whether the part is persistent memory.
Result<bool> map_part(const PartFile& part, const PartPlacement& placement, std::byte* base) {
    std::byte* address = base + placement.pool_offset;
    RPMEM_TRY(check_alignment(part, placement, address));
    const bool sync = maps_synchronously(part);
    void* mapped = mmap(address, placement.length, part.protection(),
                        MAP_FIXED | (sync ? synchronous : MAP_SHARED), part.fd(),
                        static_cast<off_t>(placement.file_offset));
    if (mapped == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot map part {} ({} bytes)",
                          part.path().native(), placement.length);
    // Keeps the pool out of core dumps. If the kernel does not support that, dumps contain it.
    static_cast<void>(madvise(mapped, placement.length, MADV_DONTDUMP));
    return sync || part.is_device_dax() || pmem_is_pmem(address, placement.length) == 1;
}

} // namespace

Result<Reservation> Reservation::make(std::size_t size, std::size_t alignment) {
    const auto padded = size + alignment; // sizes are below 2^63
    void* start =
        mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot reserve {} bytes of address space for the pool", size);
    auto* first = static_cast<std::byte*>(start);
    const auto misfit = reinterpret_cast<std::uintptr_t>(first) % alignment;
    const auto before = misfit == 0 ? 0 : alignment - misfit;
    const auto after = alignment - before;
    if (before > 0)
        munmap(first, before);
    munmap(first + before + size, after);
    return Reservation(first + before, size);
}

Result<Mapping> map_parts(const std::vector<PartFile>& parts, const PartLayout& layout) {
    std::size_t alignment = large_page;
    for (const auto& part : parts)
        alignment = std::max<std::size_t>(alignment, part.alignment());
    RPMEM_ASSIGN(auto memory, Reservation::make(layout.size, alignment));
    Medium medium;
    std::vector<bool> on_pmem;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        RPMEM_ASSIGN(const auto is_pmem, map_part(parts[i], layout.parts[i], memory.address()));
        on_pmem.push_back(is_pmem);
        RPMEM_TRY(medium.add(parts[i].fd(), parts[i].path().native(),
                             memory.address() + layout.parts[i].pool_offset, layout.parts[i].length,
                             is_pmem, layout.parts[i].file_offset, parts[i].deep_flush()));
    }
    return Mapping{std::move(memory), std::move(medium), std::move(on_pmem)};
}

Result<> open_header_copy(const PoolOptions& options, std::size_t count, MappedPool& pool) {
    if (options.header_copies < 0 || count == 0)
        return {};
    auto opened =
        HeaderCopyFile::open(options.header_copies, options.poolset_dir / pool.name, count);
    if (opened)
        pool.header_copy = std::move(*opened);
    else if (opened.error().code == ENOTSUP)
        return Failure(opened.error());
    else
        pool.log.warning("pool {}: {}; a header that a loss of power tears cannot be restored",
                         pool.name, opened.error().text);
    return {};
}

void keep_header_copy(const MappedPool& pool, std::vector<PoolHeader> before) {
    if (!pool.header_copy)
        return;
    if (const auto saved = pool.header_copy->save({std::move(before), pool.headers}); !saved)
        pool.log.warning("pool {}: {}; a header that a loss of power tears now cannot be restored",
                         pool.name, saved.error().text);
}

Result<> write_headers(const MappedPool& pool) {
    for (std::size_t i = pool.headers.size(); i-- > 0;)
        RPMEM_TRY(write_header_of(pool, pool.parts[i], i, &pool.medium.syncs_of(i)));
    return {};
}

bool keeps_shutdown_state(const MappedPool& pool) {
    return !pool.headers.empty() &&
           (pool.headers[0].incompat_features & feature::incompat_shutdown_state) != 0;
}

Result<> write_shutdown_state(MappedPool& pool, bool dirty) {
    if (!keeps_shutdown_state(pool))
        return {};
    auto& header = pool.headers[0];
    const bool covered = (header.incompat_features & feature::incompat_checksum_2k) == 0;
    auto before = covered ? pool.headers : std::vector<PoolHeader>();
    header.shutdown_state = make_shutdown_state(pool.devices, dirty);
    seal(header);
    // Without CKSUM_2K, the checksum of the header covers the shutdown state, so only the copy can
    // repair a torn state. With CKSUM_2K, the header stays valid, and a torn state is ignored.
    if (covered)
        keep_header_copy(pool, std::move(before));
    return write_header_of(pool, pool.parts[0], 0, &pool.medium.syncs_of(0));
}

} // namespace rpmem::target
