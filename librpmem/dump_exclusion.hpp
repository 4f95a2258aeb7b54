// SPDX-License-Identifier: BSD-3-Clause
// Keeps the memory of a pool out of core dumps while it is open: see MADV_DONTDUMP in madvise(2).
// The memory is the application's, so what it has said of it itself stays in force, and afterwards
// everything is as it was.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rpmem::initiator {

class DumpExclusion {
public:
    // It does nothing if the kernel cannot do this, or cannot undo it.
    explicit DumpExclusion(std::span<std::byte> memory);
    ~DumpExclusion();
    DumpExclusion(const DumpExclusion&) = delete;
    DumpExclusion& operator=(const DumpExclusion&) = delete;

private:
    std::vector<std::span<std::byte>> excluded_;
};

} // namespace rpmem::initiator
