// SPDX-License-Identifier: BSD-3-Clause
// Finds out from the first bytes of the pool's memory whether it holds a whole pool of libpmemobj,
// and which run of the program has opened it last.
#pragma once

#include <librpmem.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rpmem::initiator {

struct PoolImage {
    std::array<unsigned char, RPMEM_POOL_HDR_UUID_LEN> poolset_uuid{};
    // libpmemobj increases it by 2 each time it opens the pool, and makes it durable on all
    // replicas. So a copy with a smaller run ID is older.
    std::uint64_t run_id = 0;
};

// Offset of the run ID in a pool. It was measured with libpmemobj 1.12.1 of Debian 12 and 1.13.1 of
// Debian 13, like the offsets of tools/compare/pmemobj_layout.hpp.
inline constexpr std::size_t place_of_run_id = 6152;

// Returns nothing unless MEMORY begins with a header of libpmemobj with a valid checksum and
// major version 6 of the layout. The caller has checked that the memory can be read.
[[nodiscard]] std::optional<PoolImage> pool_image(std::span<const std::byte> memory);

} // namespace rpmem::initiator
