// SPDX-License-Identifier: BSD-3-Clause
// Sends blocks of the pool's memory to the replica. A block is copied by aligned words first, and
// sent from the copy, because the application may be storing to it.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/replica/block_map.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace rpmem::initiator {

class BlockSender {
public:
    // The target keeps the header of the pool, so the bytes before FIRST_WRITABLE are not sent. If
    // the pool has no header, FIRST_WRITABLE is 0, and send_first_page() sends the first page.
    BlockSender(std::span<std::byte> memory, std::size_t first_writable)
        : memory_(memory), first_writable_(first_writable) {}

    // Copies BLOCK to block number PLACE of copies(), which is below places. Returns an empty span
    // and sets failure() if the block cannot be read.
    [[nodiscard]] std::span<std::byte> copy(std::size_t block, std::size_t place);
    [[nodiscard]] std::byte* copies() const { return copies_.get(); }
    // Returns the memory of all copies.
    [[nodiscard]] std::span<std::byte> place_of_copies();
    // Sends the first page of a pool without headers, like persist_copies(). Call it when all other
    // bytes are durable: it makes the image of the pool whole for programs on the target.
    [[nodiscard]] int send_first_page(FrameLane& lane);
    // Returns why a block could not be read.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
    void clear_failure() { failure_.reset(); }
    // Releases copies() until they are needed again.
    void release() { copies_.reset(); }

    // Blocks that are sent together: 1 MiB. Waiting for each block alone would cost a round trip
    // for each.
    static constexpr std::size_t max_together = 16;
    // So many of these are under way at once, so that neither end waits for the other one: 4 MiB.
    static constexpr std::size_t max_under_way = 4;
    static constexpr std::size_t places = max_under_way * max_together; // blocks in copies()
    static constexpr std::size_t first_page = 4096;

private:
    std::span<std::byte> memory_;
    std::size_t first_writable_;
    std::unique_ptr<std::byte[]> copies_; // allocated when they are first needed
    std::optional<Error> failure_;
};

// Blocks whose marks are cleared. The destructor marks them again unless they became durable.
class TakenBlocks {
public:
    explicit TakenBlocks(BlockMap& map) : map_(map) {}
    ~TakenBlocks() { return_marks(); }
    void return_marks() {
        for (std::size_t i = 0; i < count_; ++i)
            map_.mark(blocks_[i] * wire::digest_block, 1);
        count_ = 0;
    }
    TakenBlocks(const TakenBlocks&) = delete;
    TakenBlocks& operator=(const TakenBlocks&) = delete;

    [[nodiscard]] std::size_t count() const { return count_; }
    void take(std::size_t block) {
        blocks_[count_++] = block;
        map_.clear(block);
    }
    // Returns their number.
    std::size_t are_durable() { return std::exchange(count_, 0); }

private:
    BlockMap& map_;
    std::array<std::size_t, BlockSender::max_together> blocks_{};
    std::size_t count_ = 0;
};

// Sends marked blocks over LANE, which nothing else uses meanwhile. Each mark is cleared before its
// block is read. Blocks that are not durable when the pass ends are marked again, and then the lane
// is not usable any more.
class BlockPass {
public:
    BlockPass(BlockSender& sender, FrameLane& lane, BlockMap& map)
        : sender_(sender), lane_(lane), map_(map) {
        lane_.lend_copies(sender_.place_of_copies());
    }
    ~BlockPass();
    BlockPass(const BlockPass&) = delete;
    BlockPass& operator=(const BlockPass&) = delete;

    // Sends the first marked blocks at or after FROM, at most max_together. Then waits until at
    // most max_under_way - 1 of these calls have blocks that are not durable. Moves FROM behind
    // them. Adds the number of those that became durable to DURABLE. Returns a code of the lane. If
    // it returns 0, check failure() of the sender.
    [[nodiscard]] int send_next(std::size_t& from, std::size_t& durable);
    // Waits until all blocks are durable that were sent, and adds their number to DURABLE.
    [[nodiscard]] int finish(std::size_t& durable);

private:
    struct Batch {
        TakenBlocks blocks;
        std::uint64_t last_frame = 0;
    };

    BlockSender& sender_;
    FrameLane& lane_;
    BlockMap& map_;
    // A ring: the oldest one is the next one to be filled.
    std::array<Batch, BlockSender::max_under_way> batches_{
        Batch{TakenBlocks(map_)}, Batch{TakenBlocks(map_)}, Batch{TakenBlocks(map_)},
        Batch{TakenBlocks(map_)}};
    std::size_t next_ = 0;
};

} // namespace rpmem::initiator
