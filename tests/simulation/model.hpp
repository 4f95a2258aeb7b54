// SPDX-License-Identifier: BSD-3-Clause
// What must be durable, and what may be. Every byte that an application stores tells its version:
// each store of a lane is newer than those before. So each byte of the target's pool tells how old
// it is, and bytes at a wrong place tell nonsense.
#pragma once

#include "tests/simulation/plan.hpp"
#include "tests/simulation/world.hpp"

namespace rpmem::simulation {

struct Range {
    std::size_t offset;
    std::size_t length;
};

class Model {
public:
    // POOL: the target's, as a processor sees it. DURABLE: what is left of it after a loss of
    // power. MEMORY: the application's; empty: the model has its own. All are given their first
    // content here.
    Model(World& world, unsigned lanes, std::span<std::byte> pool, std::span<std::byte> durable,
          std::span<std::byte> memory = {});

    [[nodiscard]] std::byte* memory() { return memory_.data(); } // the application's

    // The application stores something newer. False: there are no more versions for this lane.
    bool store(unsigned lane, const Range& range);
    // It begins a call that may send the range, now and until the lane is acknowledged.
    void passed(unsigned lane, const Range& range);
    // Nothing is in the pool that was not passed to a call.
    void check_not_passed();
    // It was told that the range is sent.
    void flushed(unsigned lane, const Range& range);
    // It was told that all of the lane is durable.
    void acknowledged(unsigned lane);
    // The pool is an older one now: nothing more is expected of it.
    void replaced() { is_replaced_ = true; }
    // The power may fail now: what was acknowledged must be there, and no word may be torn.
    void check_power_cut();

    // For a read of any lane: what was known when it began, and what it brought.
    [[nodiscard]] std::vector<std::uint8_t> oldest_answer(unsigned lane, const Range& range) const;
    void check_answer(const Range& range, std::span<const std::uint8_t> oldest,
                      std::span<const std::byte> answer);

private:
    void remember(std::size_t word);
    [[nodiscard]] std::size_t place_of(std::size_t word, std::span<const std::byte> bytes) const;
    void check_words();
    void check(std::span<const std::byte> bytes, std::span<const std::uint8_t> oldest,
               const Range& range, const char* what);

    World& world_;
    unsigned lanes_;
    std::span<std::byte> pool_;
    std::span<std::byte> durable_;
    std::vector<std::byte> own_memory_;
    std::span<std::byte> memory_;
    std::vector<std::uint8_t> flushed_;       // versions, by byte of the pool
    std::vector<std::uint8_t> acknowledged_;  // as well
    std::vector<std::uint8_t> versions_;      // of the last store, by lane
    std::vector<std::vector<Range>> pending_; // by lane: flushed, and not acknowledged
    std::vector<std::uint8_t> newest_; // that may be in the pool, of bytes that are not passed
    std::vector<bool> is_passed_;      // by byte
    std::vector<std::vector<Range>> passed_; // by lane
    // What each aligned word has been in the application's memory, hashed. Not known is what a word
    // may be that was stored again before the target had acknowledged it.
    std::vector<bool> words_seen_;
    std::vector<bool> is_under_way_; // by word
    std::vector<bool> is_unknown_;
    bool is_replaced_ = false;
};

} // namespace rpmem::simulation
