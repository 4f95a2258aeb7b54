// SPDX-License-Identifier: BSD-3-Clause
// Finds the bytes of a pool that libpmemobj never replicates: addresses, locks and caches of the
// running program. They differ in every healthy replica.
//
// Each offset was measured with libpmemobj 1.12.1 of Debian 12 (major version 6 of the layout):
// pools of 8 to 128 MiB with a REPLICA were filled and closed, and the two files were compared.
// tests/clients/compare.sh does the same.
#pragma once

#include "common/base/result.hpp"
#include "tools/compare/range.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace rpmem::compare {

// Access to the bytes of the pool on this machine.
struct PoolBytes {
    std::function<Result<>(std::uint64_t offset, std::span<std::byte> buffer)> read;
    std::function<bool(Range range)> is_hole; // returns whether all bytes are known to be zeros
    std::uint64_t size = 0;
};

struct Unreplicated {
    Ranges ranges;
    std::uint64_t needed = 0; // the end of the last byte that libpmemobj uses
    std::string kind{};       // what the ranges contain, for display
};

// Returns no ranges for a pool that is not of libpmemobj. Fails with EINVAL for a pool of
// libpmemobj with an unknown or damaged layout. All its bytes must then be compared.
[[nodiscard]] Result<Unreplicated> find_unreplicated(const PoolBytes& pool);

} // namespace rpmem::compare
