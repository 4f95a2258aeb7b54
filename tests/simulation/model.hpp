// SPDX-License-Identifier: BSD-3-Clause
// The model of what must be durable and what may be. Each store of a lane has a higher version than
// the stores before it, and every byte encodes its version and its place. So each byte in the
// target's pool shows how old it is, and a byte at a wrong place shows an impossible version.
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
    // POOL has the target's bytes as a processor sees them, DURABLE those that a power failure
    // leaves, MEMORY those of the application. If MEMORY is empty, the model has its own. The
    // constructor fills all three.
    Model(World& world, unsigned lanes, std::span<std::byte> pool, std::span<std::byte> durable,
          std::span<std::byte> memory = {});

    [[nodiscard]] std::byte* memory() { return memory_.data(); } // the application's

    // Stores a newer version. Returns false if the lane has no more versions.
    bool store(unsigned lane, const Range& range);
    // Call it when a call with the range begins. The library may send the range until the lane is
    // acknowledged.
    void passed(unsigned lane, const Range& range);
    // A byte in the pool that was not passed to a call is a finding.
    void check_not_passed();
    // Call it when a flush or a persist of the range has returned 0.
    void flushed(unsigned lane, const Range& range);
    // Call it when a call has returned 0 that makes all earlier ranges of the lane durable.
    void acknowledged(unsigned lane);
    // Like acknowledged(), for a call that has returned 0 without the target. Its ranges must be
    // durable there when the replica is in sync again.
    void promised(unsigned lane);
    [[nodiscard]] bool has_promises() const { return has_promises_; }
    // Call it when the library states that the replica is in sync. Everything that was promised
    // must be durable now, and from now on.
    void check_promises();
    // Call it when whole blocks are sent. From now on, bytes that were not passed may be sent, too.
    void sends_blocks() { sends_blocks_ = true; }
    // Call it when the program is dead. Calls that have not returned have promised nothing.
    void program_has_died();
    // Copies the memory of the application, and replaces it by such a copy.
    [[nodiscard]] std::vector<std::byte> back_up() const {
        return {memory_.begin(), memory_.end()};
    }
    void restore(std::span<const std::byte> older);
    // Call it when the pool was replaced by an older one. Nothing more is expected of it.
    void replaced() { is_replaced_ = true; }
    // Checks the state that a power failure at this moment would leave: acknowledged bytes must be
    // durable, and no word may be torn.
    void check_power_cut();

    // oldest_answer() returns the oldest versions that the answer to a read may have. After the
    // read, check_answer() compares the answer with them.
    [[nodiscard]] std::vector<std::uint8_t> oldest_answer(unsigned lane, const Range& range) const;
    void check_answer(const Range& range, std::span<const std::uint8_t> oldest,
                      std::span<const std::byte> answer);

private:
    void no_longer_passed(unsigned lane);
    [[nodiscard]] std::span<const std::byte> newest_memory() const {
        return newest_memory_.empty() ? memory_ : std::span<const std::byte>(newest_memory_);
    }
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
    std::vector<std::byte> newest_memory_;    // empty unless MEMORY was restored
    std::vector<std::uint8_t> promised_;      // version, by byte of the pool
    std::vector<std::uint8_t> flushed_;       // version, by byte of the pool
    std::vector<std::uint8_t> acknowledged_;  // version, by byte of the pool
    std::vector<std::uint8_t> versions_;      // version of the last store, by lane
    std::vector<std::vector<Range>> pending_; // flushed and not acknowledged, by lane
    std::vector<std::uint8_t> newest_; // allowed in the pool for bytes that are not passed, by byte
    std::vector<std::uint8_t> is_passed_;    // by byte
    std::vector<std::vector<Range>> passed_; // by lane
    // Hashes of all values that each aligned word had in the application's memory. A word that was
    // stored again before its acknowledgement is unknown: the target may have a mixture.
    std::vector<bool> words_seen_;
    std::vector<bool> is_under_way_; // by word
    std::vector<bool> is_unknown_;
    bool is_replaced_ = false;
    bool has_promises_ = false;
    bool sends_blocks_ = false;
};

} // namespace rpmem::simulation
