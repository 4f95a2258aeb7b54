// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/block_sender.hpp"

#include "librpmem/readable_memory.hpp"
#include "librpmem/replica/guarded_load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator {

using wire::digest_block;

std::span<std::byte> BlockSender::place_of_copies() {
    constexpr std::size_t size = places * digest_block;
    if (!copies_)
        copies_ = std::make_unique<std::byte[]>(size);
    return {copies_.get(), size};
}

std::span<std::byte> BlockSender::copy(std::size_t block, std::size_t place) {
    const std::size_t offset = block * digest_block;
    const std::span<std::byte> source =
        memory_.subspan(offset, std::min(digest_block, memory_.size() - offset));
    const auto copy = place_of_copies().subspan(place * digest_block, source.size());
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

BlockPass::~BlockPass() {
    const auto is_under_way = [](const Batch& batch) { return batch.blocks.count() > 0; };
    if (std::ranges::any_of(batches_, is_under_way))
        lane_.abandon_copies();
    lane_.lend_copies({});
}

// Adjacent blocks are also adjacent in copies(), so they are sent as one range.
int BlockPass::send_next(std::size_t& from, std::size_t& durable) {
    std::array<CopiedRange, BlockSender::max_together> ranges{};
    std::size_t range_count = 0;
    TakenBlocks& taken = batches_[next_].blocks;
    std::size_t block = map_.next(from);
    for (; block < map_.blocks() && taken.count() < BlockSender::max_together;
         block = map_.next(block + 1)) {
        const std::size_t place = next_ * BlockSender::max_together + taken.count();
        taken.take(block);
        from = block + 1;
        const std::span<std::byte> whole = sender_.copy(block, place);
        if (whole.empty()) {
            taken.return_marks();
            return finish(durable);
        }
        const std::size_t begin = block == 0 ? BlockSender::first_page : 0;
        const std::size_t offset = block * digest_block + begin;
        const std::span<std::byte> own = whole.subspan(begin);
        CopiedRange* const last = range_count > 0 ? &ranges[range_count - 1] : nullptr;
        if (last && last->offset + last->copy.size() == offset)
            last->copy = {last->copy.data(), last->copy.size() + own.size()};
        else
            ranges[range_count++] = {own, offset};
    }
    Batch& oldest = batches_[(next_ + 1) % batches_.size()];
    if (const int code = lane_.send_copies(std::span(ranges).first(range_count), oldest.last_frame))
        return code;
    batches_[next_].last_frame = lane_.last_sent();
    durable += oldest.blocks.are_durable();
    next_ = (next_ + 1) % batches_.size();
    return 0;
}

int BlockPass::finish(std::size_t& durable) {
    if (const int code = lane_.drain())
        return code;
    for (Batch& batch : batches_)
        durable += batch.blocks.are_durable();
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
