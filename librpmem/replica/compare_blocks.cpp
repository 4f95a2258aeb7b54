// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/compare_blocks.hpp"

#include "common/wire/block_digest.hpp"

#include <algorithm>
#include <vector>

namespace rpmem::initiator {

using wire::digest_block;

int compare_next(FrameLane& lane, BlockSender& sender, std::size_t pool_size, std::size_t& compared,
                 BlockMap& differing) {
    const std::size_t count = std::min(compared_together, differing.blocks() - compared);
    std::vector<wire::BlockDigest> theirs(count);
    const std::size_t offset = compared * digest_block;
    const std::size_t length = std::min(count * digest_block, pool_size - offset);
    if (const int code = lane.digests(theirs, offset, length))
        return code;
    for (const wire::BlockDigest& digest : theirs) {
        const std::span<std::byte> copy = sender.copy(compared, 0);
        if (copy.empty())
            return 0;
        wire::BlockDigest ours{};
        wire::digest_blocks(copy, {&ours, 1});
        if (ours != digest)
            differing.mark(compared * digest_block, 1);
        ++compared;
    }
    return 0;
}

} // namespace rpmem::initiator
