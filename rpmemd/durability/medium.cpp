// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/medium.hpp"

#include "common/base/deep_flush.hpp"
#include "common/base/file_holes.hpp"
#include "rpmemd/durability/sync_tracker.hpp"

#include <libpmem.h>
#include <libpmem2.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace rpmem::target {
namespace {

// libpmem2 returns negative errno values, or its own codes, which begin here and descend.
constexpr int last_own_code = -100000;

constexpr std::uintptr_t page_size = 4096; // the minimum of all architectures

int errno_of(int code) { return code > last_own_code ? -code : EIO; }

Failure medium_failure(int code, const std::string& path) {
    return fail(ErrorClass::resource_limit, errno_of(code),
                "cannot prepare deep flushes of part {}: {}", path, pmem2_errormsg());
}

// Returns whether CODE means that the device has no deeper flush, or that this user may not request
// it.
bool nothing_deeper(int code) {
    return code == PMEM2_E_NOSUPP || code == PMEM2_E_DAX_REGION_NOT_FOUND || code == -EACCES ||
           code == -EPERM || code == -ENOENT || code == -EROFS;
}

// Stores to every page without changing it. An RDMA device writes to pinned pages of a file without
// the kernel noticing, and msync(2) skips pages that the kernel considers clean.
void mark_changed(std::byte* address, std::size_t size) {
    std::byte* const begin = address - reinterpret_cast<std::uintptr_t>(address) % page_size;
    std::byte* const end = address + size;
    for (std::byte* page = begin; page < end; page += page_size) {
        const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(page));
        std::uint64_t value = word.load(std::memory_order_relaxed);
        while (!word.compare_exchange_weak(value, value, std::memory_order_relaxed)) {
        }
    }
}

int sync_pages(std::byte* address, std::size_t size) {
    mark_changed(address, size);
    return pmem_msync(address, size) == 0 ? 0 : errno;
}

} // namespace

Medium::Medium() : latch_(std::make_unique<FailureLatch>()) {}
Medium::~Medium() = default;
Medium::Medium(Medium&&) noexcept = default;

Medium& Medium::operator=(Medium&& other) noexcept {
    ranges_ = std::move(other.ranges_); // before the latch, to which the old ranges refer
    latch_ = std::move(other.latch_);
    all_pmem_ = other.all_pmem_;
    return *this;
}

void Medium::DeleteSource::operator()(pmem2_source* source) const { pmem2_source_delete(&source); }

void Medium::DeleteMap::operator()(pmem2_map* map) const { pmem2_map_delete(&map); }

Result<> Medium::add(int fd, const std::string& path, std::byte* address, std::size_t size,
                     bool is_pmem, std::uint64_t offset, std::optional<int> deep_flush) {
    struct stat status {};
    const bool had_name = ::fstat(fd, &status) == 0 && status.st_nlink > 0;
    Range range{address,    address + size, offset,
                fd,         path,           std::make_unique<SyncTracker>(*latch_, path),
                is_pmem,    had_name,       has_reliable_holes(fd),
                deep_flush, nullptr,        nullptr};
    // A Device DAX does not use libpmem2, which searches all of /sys/bus/nd for each deep flush.
    if (is_pmem && !deep_flush) {
        // libpmem2 must know the mapping, which it did not create.
        pmem2_source* source = nullptr;
        if (const int code = pmem2_source_from_fd(&source, fd); code != 0)
            return medium_failure(code, path);
        range.source.reset(source);
        pmem2_map* map = nullptr;
        if (const int code =
                pmem2_map_from_existing(&map, source, address, size, PMEM2_GRANULARITY_CACHE_LINE);
            code != 0)
            return medium_failure(code, path);
        range.map.reset(map);
    }
    ranges_.push_back(std::move(range));
    all_pmem_ = all_pmem_ && is_pmem;
    return {};
}

void Medium::look_at_files() const {
    for (const Range& range : ranges_) {
        struct stat status {};
        const auto end = range.offset + static_cast<std::uint64_t>(range.end - range.begin);
        if (::fstat(range.fd, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        const auto size = static_cast<std::uint64_t>(status.st_size);
        if (size < end)
            latch_->set_truncated(range.path, size, end - size);
        if (range.had_name && status.st_nlink == 0)
            latch_->set_removed(range.path);
    }
}

std::string Medium::failure_text() const {
    const auto failure = latch_->failure();
    return failure ? failure->text : std::string();
}

std::vector<PartInMemory> Medium::parts() const {
    std::vector<PartInMemory> parts;
    for (const Range& range : ranges_)
        parts.push_back({range.path, range.begin, static_cast<std::size_t>(range.end - range.begin),
                         range.offset, range.fd});
    return parts;
}

template <typename Persist>
int Medium::for_each_share(std::byte* address, std::size_t size, Persist persist) const {
    std::byte* const end = address + size;
    auto range = std::upper_bound(
        ranges_.begin(), ranges_.end(), address,
        [](const std::byte* first, const Range& candidate) { return first < candidate.end; });
    for (; range != ranges_.end() && range->begin < end; ++range) {
        std::byte* const from = std::max(address, range->begin);
        const auto length = static_cast<std::size_t>(std::min(end, range->end) - from);
        if (const int code = persist(*range, from, length); code != 0)
            return code;
    }
    return 0;
}

int Medium::persist(std::byte* address, std::size_t size) const {
    if (all_pmem_) {
        pmem_persist(address, size);
        return 0;
    }
    return for_each_share(address, size,
                          [](const Range& range, std::byte* from, std::size_t length) {
                              // Persistent memory needs no msync(2). Device DAX does not have it.
                              if (!range.is_pmem)
                                  return range.syncs->run(range.offset_of(from), length,
                                                          [&] { return sync_pages(from, length); });
                              pmem_persist(from, length);
                              return 0;
                          });
}

int Medium::deep_persist(std::byte* address, std::size_t size) const {
    return for_each_share(
        address, size, [](const Range& range, std::byte* from, std::size_t length) {
            return range.syncs->run(range.offset_of(from), length, [&] {
                if (!range.is_pmem)
                    return sync_pages(from, length);
                pmem_persist(from, length); // a deep flush need not flush the processor caches
                if (range.deep_flush)
                    return deep_flush(*range.deep_flush);
                const int code = pmem2_deep_flush(range.map.get(), from, length);
                return code == 0 || nothing_deeper(code) ? 0 : errno_of(code);
            });
        });
}

std::size_t Medium::hole_size(std::byte* address, std::size_t size) const {
    std::size_t found = 0;
    for_each_share(address, size, [&](const Range& range, std::byte* from, std::size_t length) {
        const std::size_t hole =
            range.has_reliable_holes ? hole_at(range.fd, range.offset_of(from), length) : 0;
        found += hole;
        return hole == length ? 0 : ENODATA;
    });
    return found;
}

void Medium::flush_pmem() const {
    for (const Range& range : ranges_)
        if (range.is_pmem)
            pmem_persist(range.begin, static_cast<std::size_t>(range.end - range.begin));
}

} // namespace rpmem::target
