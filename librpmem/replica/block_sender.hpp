// SPDX-License-Identifier: BSD-3-Clause
// Sends blocks of the pool's memory to the replica. A block is copied by aligned words first, and
// sent from the copy, because the application may be storing to it.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/replica/block_map.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace rpmem::initiator {

class BlockSender {
public:
    // The target keeps the header of the pool, so the bytes before FIRST_WRITABLE are not sent. If
    // the pool has no header, FIRST_WRITABLE is 0, and send_first_page() sends the first page.
    BlockSender(std::span<std::byte> memory, std::size_t first_writable)
        : memory_(memory), first_writable_(first_writable) {}

    // Copies BLOCK to block number PLACE of copies(). Returns an empty span and sets failure() if
    // the block cannot be read.
    [[nodiscard]] std::span<std::byte> copy(std::size_t block, std::size_t place);
    [[nodiscard]] std::byte* copies() const { return copies_.get(); }
    // Sends the first marked blocks at or after FROM, at most max_together, and waits until they
    // are durable. Moves FROM past them, and adds their number to SENT. Each mark is cleared
    // before its block is read. If the blocks are not durable, they are marked again. Returns a
    // code of LANE. If it returns 0, check failure().
    [[nodiscard]] int send_next(FrameLane& lane, BlockMap& map, std::size_t& from,
                                std::size_t& sent);
    // Sends the first page of a pool without headers, like send_next(). Call it when all other
    // bytes are durable: it makes the image of the pool whole for programs on the target.
    [[nodiscard]] int send_first_page(FrameLane& lane);
    // Returns why a block could not be read.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
    void clear_failure() { failure_.reset(); }
    // Releases copies() until the next copy().
    void release() { copies_.reset(); }

    // Blocks in copies(): 1 MiB. Waiting for each block alone would cost a round trip for each.
    static constexpr std::size_t max_together = 16;
    static constexpr std::size_t first_page = 4096;

private:
    std::span<std::byte> memory_;
    std::size_t first_writable_;
    std::unique_ptr<std::byte[]> copies_; // allocated by the first copy()
    std::optional<Error> failure_;
};

} // namespace rpmem::initiator
