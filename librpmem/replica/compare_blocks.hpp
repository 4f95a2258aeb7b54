// SPDX-License-Identifier: BSD-3-Clause
// Compares blocks of the pool's memory with the replica.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/replica/block_map.hpp"
#include "librpmem/replica/block_sender.hpp"
#include "librpmem/replica/local_data.hpp"

#include <chrono>
#include <cstddef>
#include <span>

namespace rpmem::initiator {

// Blocks whose digests are requested together: 16 MiB of the pool, which are as many requests as a
// lane may have in progress. Both ends compute their digests at the same time.
inline constexpr std::size_t compared_together = wire::max_reads * wire::max_digests;

// Like find_local_data(), but if that fails or takes longer than TIME, the result has no blocks.
// Then all blocks are read.
[[nodiscard]] LocalData look_for_data(std::span<std::byte> memory, std::chrono::milliseconds time);

struct ComparedMemory {
    std::span<std::byte> memory; // of the whole pool
    const LocalData& data;
};

// Compares the blocks from number COMPARED on, at most compared_together, by their digests. Marks
// those that differ in DIFFERING, and sets OVERWRITES if such a block of the replica is not all
// zeros. Adds the number of compared blocks to COMPARED. Do not use it for block 0: the target
// writes the header in it, and may hide its first page, so its digest may differ although all other
// bytes are equal. A store into a hole after look_for_data() is not compared, so the program must
// pass it to a call. Returns a code of LANE. If it returns 0, check SENDER.failure().
[[nodiscard]] int compare_next(FrameLane& lane, BlockSender& sender, const ComparedMemory& ours,
                               std::size_t& compared, BlockMap& differing, bool& overwrites);

} // namespace rpmem::initiator
