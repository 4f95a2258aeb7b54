// SPDX-License-Identifier: BSD-3-Clause
// Finds the holes of a pool. A reader of the whole pool skips them, because reading all of a large
// pool may take hours.
#pragma once

#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/pool.hpp"

#include <cstdint>

namespace rpmem::target {

class PoolReading {
public:
    // POOL must be open read-only.
    explicit PoolReading(const Pool& pool);

    // Returns whether the file systems report [BEGIN, END) of the pool as a hole.
    [[nodiscard]] bool is_hole(std::uint64_t begin, std::uint64_t end) const;

private:
    const Pool& pool_;
    PartLayout layout_;
};

} // namespace rpmem::target
