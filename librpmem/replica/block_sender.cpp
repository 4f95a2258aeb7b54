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

namespace {

// Marks the blocks from FIRST to NEXT again, unless they became durable. Also if an exception
// leaves the function.
class MarkAgain {
public:
    MarkAgain(BlockMap& map, std::size_t first, const std::size_t& next)
        : map_(map), first_(first), next_(next) {}
    ~MarkAgain() {
        for (std::size_t block = first_; !are_durable_ && block < next_; ++block)
            map_.mark(block * digest_block, 1);
    }
    MarkAgain(const MarkAgain&) = delete;
    MarkAgain& operator=(const MarkAgain&) = delete;
    void are_durable() { are_durable_ = true; }

private:
    BlockMap& map_;
    std::size_t first_;
    const std::size_t& next_;
    bool are_durable_ = false;
};

} // namespace

int BlockSender::send_run(FrameLane& lane, BlockMap& map, std::size_t from, std::size_t& next) {
    const std::size_t first = map.next(from);
    std::size_t length = 0;
    next = first;
    MarkAgain guard(map, first, next);
    while (next - first < max_run && next < map.blocks() && map.next(next) == next) {
        map.clear(next);
        ++next;
        const std::size_t size = copy(next - 1, next - 1 - first).size();
        if (size == 0)
            return 0;
        length += size;
    }
    const std::size_t begin = first == 0 ? first_writable_ : 0;
    const int code =
        lane.persist_copy({copies_.get() + begin, length - begin}, first * digest_block + begin);
    if (code == 0)
        guard.are_durable();
    return code;
}

} // namespace rpmem::initiator
