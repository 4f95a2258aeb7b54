// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::initiator {

struct PoolRange {
    std::size_t offset;
    std::size_t length;

    bool operator==(const PoolRange&) const = default;
};

// A copy of a range of the pool.
struct CopiedRange {
    std::span<const std::byte> copy;
    std::size_t offset;
};

} // namespace rpmem::initiator
