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

// Blocks whose digests are requested together: 64 MiB of the pool.
inline constexpr std::size_t compared_together = 1024;

// Finds the holes of the files behind MEMORY. Returns nothing if that takes longer than TIME or is
// not possible. Then all blocks are read.
[[nodiscard]] LocalData look_for_data(std::span<std::byte> memory, std::chrono::milliseconds time);

struct ComparedMemory {
    std::span<std::byte> memory; // of the whole pool
    const LocalData& data;
};

// Compares the next blocks from COMPARED on, at most compared_together, by their digests, and marks
// those that differ in DIFFERING. Sets OVERWRITES if such a block of the replica is not all zeros.
// Adds the number of compared blocks to COMPARED. The target keeps the header
// itself, so the digest of block 0 tells nothing. A store into a hole after look_for_data() must
// have a call of its own. Returns a code of LANE. If it returns 0, check SENDER.failure().
[[nodiscard]] int compare_next(FrameLane& lane, BlockSender& sender, const ComparedMemory& ours,
                               std::size_t& compared, BlockMap& differing, bool& overwrites);

} // namespace rpmem::initiator
