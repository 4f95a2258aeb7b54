// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/second_mapping.hpp"

#include "librpmem/replica/mappings.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace rpmem::initiator {
namespace {

Failure cannot_map() {
    return fail_errno(ErrorClass::resource_limit, errno,
                      "the pool's memory cannot be mapped a second time");
}

} // namespace

SecondMapping::~SecondMapping() {
    if (!memory_.empty())
        ::munmap(memory_.data(), memory_.size());
}

// mremap(2) with an old size of 0 maps the same pages of a shared mapping again, so no file has to
// be opened. It keeps the protection.
Result<SecondMapping> map_again(std::span<std::byte> memory) {
    RPMEM_ASSIGN(const auto mappings, mappings_of(memory));
    void* const place = ::mmap(nullptr, memory.size(), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return cannot_map();
    SecondMapping second({static_cast<std::byte*>(place), memory.size()});
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    for (const Mapping& mapping : mappings) {
        const std::uintptr_t from = std::max(mapping.begin, begin);
        const std::uintptr_t to = std::min(mapping.end, begin + memory.size());
        std::byte* const there = second.memory().data() + (from - begin);
        if (::mremap(memory.data() + (from - begin), 0, to - from, MREMAP_MAYMOVE | MREMAP_FIXED,
                     there) == MAP_FAILED)
            return cannot_map();
    }
    if (::mprotect(place, memory.size(), PROT_READ) != 0 ||
        ::madvise(place, memory.size(), MADV_DONTFORK) != 0)
        return cannot_map();
    return second;
}

} // namespace rpmem::initiator
