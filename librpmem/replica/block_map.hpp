// SPDX-License-Identifier: BSD-3-Clause
// One bit for each block of 64 KiB of the pool: the blocks that the replica lacks. 2 MiB for each
// TiB of the pool.
#pragma once

#include "common/wire/frame.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rpmem::initiator {

// All functions are thread-safe. mark() never tests a bit before it sets it. It could find a bit
// that another thread clears right afterwards, and the mark would be lost.
class BlockMap {
public:
    BlockMap() = default;
    explicit BlockMap(std::size_t pool_size)
        : blocks_((pool_size + wire::digest_block - 1) / wire::digest_block),
          words_(std::make_unique<std::atomic<std::uint64_t>[]>((blocks_ + word_bits - 1) /
                                                                word_bits)) {}

    [[nodiscard]] std::size_t blocks() const { return blocks_; }
    // Marks each block that overlaps with the range, which is not empty. Returns whether one of
    // them was not marked before.
    bool mark(std::size_t offset, std::size_t length) {
        const std::size_t last = (offset + length - 1) / wire::digest_block;
        bool is_new = false;
        for (std::size_t block = offset / wire::digest_block; block <= last; ++block)
            is_new |= (words_[block / word_bits].fetch_or(bit_of(block)) & bit_of(block)) == 0;
        return is_new;
    }
    // Clear the mark before the block is read. Otherwise a store after the read would be lost.
    void clear(std::size_t block) { words_[block / word_bits].fetch_and(~bit_of(block)); }
    [[nodiscard]] bool is_marked(std::size_t block) const {
        return (words_[block / word_bits].load() & bit_of(block)) != 0;
    }
    // Returns the first marked block that is not before FROM, or blocks() if there is none.
    [[nodiscard]] std::size_t next(std::size_t from) const {
        while (from < blocks_) {
            const std::uint64_t rest =
                words_[from / word_bits].load() & (~std::uint64_t{0} << from % word_bits);
            if (rest != 0)
                return from / word_bits * word_bits +
                       static_cast<std::size_t>(std::countr_zero(rest));
            from = (from / word_bits + 1) * word_bits;
        }
        return blocks_;
    }
    [[nodiscard]] std::size_t count() const {
        std::size_t marked = 0;
        for (std::size_t word = 0; word < (blocks_ + word_bits - 1) / word_bits; ++word)
            marked += static_cast<std::size_t>(std::popcount(words_[word].load()));
        return marked;
    }

private:
    static constexpr std::size_t word_bits = 64;
    static std::uint64_t bit_of(std::size_t block) { return std::uint64_t{1} << block % word_bits; }

    std::size_t blocks_ = 0;
    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

} // namespace rpmem::initiator
