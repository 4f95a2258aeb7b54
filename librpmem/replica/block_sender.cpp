// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/block_sender.hpp"

#include "librpmem/readable_memory.hpp"
#include "librpmem/replica/load_words.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::initiator {

using wire::digest_block;

std::span<std::byte> BlockSender::copy(std::size_t block, std::size_t place) {
    const std::size_t offset = block * digest_block;
    const std::span<std::byte> source =
        memory_.subspan(offset, std::min(digest_block, memory_.size() - offset));
    if (!is_readable(source)) {
        failure_ = Error{EFAULT, ErrorClass::caller_fault,
                         fmt::format("{} bytes at offset {} of the pool, at {}, cannot be read by "
                                     "this process, so they cannot be sent to the replica; are "
                                     "they mapped, and with PROT_READ?",
                                     source.size(), offset, fmt::ptr(source.data()))};
        return {};
    }
    if (!copies_)
        copies_ = std::make_unique<std::byte[]>(max_run * digest_block);
    const std::span copy(copies_.get() + place * digest_block, source.size());
    load_words(copy.data(), source);
    return copy;
}

int BlockSender::send_run(FrameLane& lane, BlockMap& map, std::size_t from, std::size_t& next) {
    const std::size_t first = map.next(from);
    std::size_t count = 0;
    std::size_t length = 0;
    while (count < max_run && first + count < map.blocks() &&
           map.next(first + count) == first + count) {
        map.clear(first + count);
        const std::size_t size = copy(first + count, count).size();
        ++count;
        if (size == 0)
            break;
        length += size;
    }
    next = first + count;
    const std::size_t begin = first == 0 ? first_writable_ : 0;
    const int code = failure_ ? 0
                              : lane.persist_copy({copies_.get() + begin, length - begin},
                                                  first * digest_block + begin);
    if (code != 0 || failure_)
        for (std::size_t block = first; block < next; ++block)
            map.mark(block * digest_block, 1);
    return code;
}

} // namespace rpmem::initiator
