// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/compare_blocks.hpp"

#include "common/wire/block_digest.hpp"
#include "librpmem/replica/within.hpp"

#include <algorithm>
#include <vector>

namespace rpmem::initiator {

using wire::digest_block;

namespace {

bool is_hole(const ComparedMemory& ours, std::size_t block) {
    return block < ours.data.blocks.blocks() && !ours.data.blocks.is_marked(block) &&
           (block + 1) * digest_block <= ours.memory.size();
}

} // namespace

LocalData look_for_data(std::span<std::byte> memory, std::chrono::milliseconds time) {
    auto data = within(time, [memory] { return find_local_data(memory); });
    return data ? std::move(*data) : LocalData();
}

int compare_next(FrameLane& lane, BlockSender& sender, const ComparedMemory& ours,
                 std::size_t& compared, BlockMap& differing, bool& overwrites) {
    const std::size_t count = std::min(compared_together, differing.blocks() - compared);
    std::vector<wire::BlockDigest> theirs(count);
    std::vector<wire::BlockDigest> own(count, wire::digest_of_zeros);
    const std::size_t offset = compared * digest_block;
    const std::size_t length = std::min(count * digest_block, ours.memory.size() - offset);
    bool was_read = false;
    const auto digest_own = [&] {
        for (std::size_t i = 0; i < count && !sender.failure(); ++i) {
            if (is_hole(ours, compared + i))
                continue;
            wire::digest_blocks(sender.copy(compared + i, 0), {&own[i], 1});
            was_read = true;
        }
    };
    if (const int code = lane.digests(theirs, offset, length, digest_own))
        return code;
    if (sender.failure())
        return 0;
    for (std::size_t i = 0; i < count; ++i)
        if (own[i] != theirs[i]) {
            differing.mark((compared + i) * digest_block, 1);
            overwrites = overwrites || theirs[i] != wire::digest_of_zeros;
        }
    compared += count;
    // Otherwise the whole pool would be in the page tables of this process.
    if (was_read)
        ours.data.drop(ours.memory.subspan(offset, length));
    return 0;
}

} // namespace rpmem::initiator
