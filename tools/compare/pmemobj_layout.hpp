// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a pool that libpmemobj keeps for itself and never replicates: addresses, locks and
// caches of the running program. They differ in every healthy replica.
//
// Each fact was measured with libpmemobj 1.12.1 of Debian 12 (major version 6 of the layout): pools
// of 8 to 128 MiB with a REPLICA were filled, closed, and the two files compared. See
// tests/clients/compare.sh, which does the same.
#pragma once

#include "common/base/result.hpp"
#include "tools/compare/range.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace rpmem::compare {

// The bytes of the pool on this machine.
struct PoolBytes {
    std::function<Result<>(std::uint64_t offset, std::span<std::byte> buffer)> read;
    std::function<bool(Range range)> is_hole; // without data, so that all bytes are zeros
    std::uint64_t size = 0;
};

struct Unreplicated {
    Ranges ranges;            // ascending
    std::uint64_t needed = 0; // the end of the last byte that libpmemobj uses
    std::string kind{};       // what the ranges are, for people; empty: there are none
};

// Nothing for a pool that is not libpmemobj's. EINVAL if it says that it is, and its layout is not
// the one that is known: then all bytes are to be compared.
[[nodiscard]] Result<Unreplicated> find_unreplicated(const PoolBytes& pool);

} // namespace rpmem::compare
