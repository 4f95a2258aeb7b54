// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/block_sender.hpp"

#include "librpmem/readable_memory.hpp"
#include "librpmem/replica/guarded_load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator {

using wire::digest_block;

std::span<std::byte> BlockSender::copy(std::size_t block, std::size_t place) {
    const std::size_t offset = block * digest_block;
    const std::span<std::byte> source =
        memory_.subspan(offset, std::min(digest_block, memory_.size() - offset));
    if (!copies_)
        copies_ = std::make_unique<std::byte[]>(max_together * digest_block);
    const std::span copy(copies_.get() + place * digest_block, source.size());
    std::optional<std::size_t> unreadable = unreadable_at(source);
    if (!unreadable)
        unreadable = load_words_guarded(copy.data(), source);
    if (!unreadable)
        return copy;
    failure_ = Error{EFAULT, ErrorClass::caller_fault,
                     fmt::format("the byte at offset {} of the pool, at {}, cannot be read by this "
                                 "process, so its block cannot be sent to the replica; is it "
                                 "mapped, with PROT_READ, and is its file long enough?",
                                 offset + *unreadable, fmt::ptr(source.data() + *unreadable))};
    return {};
}

namespace {

// Blocks whose marks are cleared. They are marked again unless they became durable, also if an
// exception leaves the function.
class TakenBlocks {
public:
    explicit TakenBlocks(BlockMap& map) : map_(map) {}
    ~TakenBlocks() {
        for (std::size_t i = 0; i < count_; ++i)
            map_.mark(blocks_[i] * digest_block, 1);
    }
    TakenBlocks(const TakenBlocks&) = delete;
    TakenBlocks& operator=(const TakenBlocks&) = delete;

    [[nodiscard]] std::size_t count() const { return count_; }
    void take(std::size_t block) {
        blocks_[count_++] = block;
        map_.clear(block);
    }
    void are_durable() { count_ = 0; }

private:
    BlockMap& map_;
    std::array<std::size_t, BlockSender::max_together> blocks_{};
    std::size_t count_ = 0;
};

} // namespace

// Adjacent blocks are also adjacent in copies(), so they are sent as one range.
int BlockSender::send_next(FrameLane& lane, BlockMap& map, std::size_t& from, std::size_t& sent) {
    std::array<CopiedRange, max_together> ranges{};
    std::size_t range_count = 0;
    TakenBlocks taken(map);
    std::size_t block = map.next(from);
    for (; block < map.blocks() && taken.count() < max_together; block = map.next(block + 1)) {
        const std::size_t place = taken.count();
        taken.take(block);
        from = block + 1;
        const std::span<std::byte> whole = copy(block, place);
        if (whole.empty())
            return 0;
        const std::size_t begin = block == 0 ? first_page : 0;
        const std::size_t offset = block * digest_block + begin;
        const std::span<std::byte> own = whole.subspan(begin);
        CopiedRange* const last = range_count > 0 ? &ranges[range_count - 1] : nullptr;
        if (last && last->offset + last->copy.size() == offset)
            last->copy = {last->copy.data(), last->copy.size() + own.size()};
        else
            ranges[range_count++] = {own, offset};
    }
    const int code = lane.persist_copies(std::span(ranges).first(range_count));
    if (code != 0)
        return code;
    sent += taken.count();
    taken.are_durable();
    return 0;
}

int BlockSender::send_first_page(FrameLane& lane) {
    if (first_writable_ != 0)
        return 0;
    const std::span<std::byte> block = copy(0, 0);
    if (block.empty())
        return 0;
    const CopiedRange page{block.first(std::min(first_page, block.size())), 0};
    return lane.persist_copies({&page, 1});
}

} // namespace rpmem::initiator
