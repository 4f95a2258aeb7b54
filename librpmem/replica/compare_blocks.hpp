// SPDX-License-Identifier: BSD-3-Clause
// Compares blocks of the pool's memory with the replica.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/replica/block_map.hpp"
#include "librpmem/replica/block_sender.hpp"

#include <cstddef>

namespace rpmem::initiator {

// Blocks whose digests are requested together: 64 MiB of the pool.
inline constexpr std::size_t compared_together = 1024;

// Compares the next blocks from COMPARED on, at most compared_together, by their digests, and marks
// those that differ in DIFFERING. Adds their number to COMPARED. POOL_SIZE is in bytes. The target
// keeps the header itself, so the digest of block 0 tells nothing. Returns a code of LANE. If it
// returns 0, check SENDER.failure().
[[nodiscard]] int compare_next(FrameLane& lane, BlockSender& sender, std::size_t pool_size,
                               std::size_t& compared, BlockMap& differing);

} // namespace rpmem::initiator
