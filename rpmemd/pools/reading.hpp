// SPDX-License-Identifier: BSD-3-Clause
// What a reader of a whole pool needs, which may take hours: it learns that a writer wants the
// pool, and skips holes.
#pragma once

#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/store.hpp"

#include <cstdint>
#include <vector>

namespace rpmem::target {

class PoolReading {
public:
    // POOL was opened to read only. From now on a process that opens a part to write is delayed
    // (PartFile::open() waits for it) until the pool is closed. The kernel reports it by a lease,
    // fcntl(2); where there are none (NFS, Device DAX, parts of another user) a writer gets EBUSY.
    explicit PoolReading(const Pool& pool);

    [[nodiscard]] bool is_wanted() const; // a writer waits: close the pool
    // [BEGIN, END) of the pool has no data, as far as the file systems tell.
    [[nodiscard]] bool is_hole(std::uint64_t begin, std::uint64_t end) const;

private:
    const Pool& pool_;
    PartLayout layout_;
    std::vector<int> leased_; // descriptors of parts
};

} // namespace rpmem::target
