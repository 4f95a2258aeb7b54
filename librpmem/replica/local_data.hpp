// SPDX-License-Identifier: BSD-3-Clause
// Finds the blocks of the pool's memory that are holes of the files behind it. A comparison need
// not read them.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/replica/block_map.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rpmem::initiator {

struct LocalData {
    // Marked: the block may have data, or cannot be read. The others are zeros.
    BlockMap blocks;
    // Shared mappings of files on a disk. Their pages are in the page cache.
    std::vector<std::span<std::byte>> on_disk;

    // Drops the pages of MEMORY that are on_disk from the page tables of this process. They stay in
    // the page cache, also with bytes that are not written yet.
    void drop(std::span<std::byte> memory) const;
};

// Fails if the kernel or a filter of system calls does not allow this process to examine the files.
//
// Call it in a thread that ends afterwards, because it gives the thread a descriptor table of its
// own, without the descriptors of the process. In the table of the process, closing a descriptor of
// a file would release the locks that the program holds on the file by fcntl(2).
[[nodiscard]] Result<LocalData> find_local_data(std::span<std::byte> memory);

} // namespace rpmem::initiator
