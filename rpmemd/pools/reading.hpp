// SPDX-License-Identifier: BSD-3-Clause
// Support for reading a whole pool, which may take hours. The reader learns when a writer wants the
// pool, and can skip holes.
#pragma once

#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/store.hpp"

#include <cstdint>
#include <vector>

namespace rpmem::target {

class PoolReading {
public:
    // POOL must be open read-only. Takes leases of its parts, see fcntl(2). While the pool is open,
    // a PartFile::open() for writing then waits, and is_wanted() reports it. Where there are no
    // leases (NFS, Device DAX, parts of another user), a writer gets EBUSY. Ignores SIGIO in this
    // process from now on.
    explicit PoolReading(const Pool& pool);

    // Returns whether a writer waits. Then close the pool.
    [[nodiscard]] bool is_wanted() const;
    // Returns whether the file systems report [BEGIN, END) of the pool as a hole.
    [[nodiscard]] bool is_hole(std::uint64_t begin, std::uint64_t end) const;

private:
    const Pool& pool_;
    PartLayout layout_;
    std::vector<int> leased_; // descriptors of parts
};

} // namespace rpmem::target
