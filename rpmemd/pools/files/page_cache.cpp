// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/page_cache.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace rpmem::target {
namespace {

// cachestat(2) exists since Linux 6.5. The headers of Debian 12 lack it. The number is the same on
// all architectures that this daemon supports.
constexpr long cachestat_number = 451;

struct CacheRange {
    std::uint64_t offset;
    std::uint64_t length; // 0 means to the end of the file
};

struct CacheCounts {
    std::uint64_t cached;
    std::uint64_t dirty;
    std::uint64_t being_written;
    std::uint64_t evicted;
    std::uint64_t recently_evicted;
};

// Returns nothing if the kernel or the file system does not support cachestat(2). cachestat(2)
// visits only cached pages. mincore(2) visits every page of the file, which takes ten seconds for
// 1 TiB.
std::optional<bool> ask_cachestat(int fd, std::uint64_t size) {
    const CacheRange range{.offset = 0, .length = size};
    CacheCounts counts{};
    if (::syscall(cachestat_number, fd, &range, &counts, 0U) != 0)
        return std::nullopt;
    return counts.cached > 0;
}

bool ask_mincore(int fd, std::uint64_t size) {
    constexpr std::uint64_t step = 1ULL << 30; // a result of 256 KiB
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(std::min(size, step) / page + 1);
    for (std::uint64_t offset = 0; offset < size; offset += step) {
        const std::size_t length = std::min(size - offset, step);
        void* const memory =
            ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
        if (memory == MAP_FAILED)
            return false;
        const bool known = ::mincore(memory, length, pages.data()) == 0;
        ::munmap(memory, length);
        const auto end = pages.begin() + static_cast<std::ptrdiff_t>((length + page - 1) / page);
        if (known && std::any_of(pages.begin(), end, [](auto each) { return (each & 1) != 0; }))
            return true;
    }
    return false;
}

} // namespace

bool has_cached_pages(int fd, std::uint64_t size) {
    if (const auto cached = ask_cachestat(fd, size))
        return *cached;
    return ask_mincore(fd, size);
}

} // namespace rpmem::target
