// SPDX-License-Identifier: BSD-3-Clause
// Excludes the memory of a pool from core dumps while the pool is open, see MADV_DONTDUMP in
// madvise(2). The memory belongs to the application, so the destructor restores its own choice.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rpmem::initiator {

class DumpExclusion {
public:
    // Excludes nothing if madvise(2) fails, or if the choice of the application cannot be read from
    // /proc/self/smaps.
    explicit DumpExclusion(std::span<std::byte> memory);
    ~DumpExclusion();
    DumpExclusion(const DumpExclusion&) = delete;
    DumpExclusion& operator=(const DumpExclusion&) = delete;

private:
    std::vector<std::span<std::byte>> excluded_;
};

} // namespace rpmem::initiator
