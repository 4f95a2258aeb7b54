// SPDX-License-Identifier: BSD-3-Clause
// Ranges that a lane has stored into the pool and not made durable yet.
#pragma once

#include "rpmemd/durability/medium.hpp"
#include "rpmemd/statistics/worker_counters.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace rpmem::target {

// Used by one thread, which counts in COUNTERS. POOL is where offset 0 is. All must outlive this.
// The texts say why a range is not durable; empty: it is.
class DirtyRanges {
public:
    DirtyRanges(const Medium& medium, const std::byte* pool, WorkerCounters& counters)
        : medium_(medium), pool_(pool), counters_(counters) {}

    // Copies DATA to the pool, without cutting through aligned words. Part of it may become durable
    // at once.
    [[nodiscard]] std::string copy(std::byte* address, std::span<const std::byte> data);
    // Somebody else has stored the range.
    [[nodiscard]] std::string add(std::byte* address, std::size_t size);
    // Makes all of them durable.
    [[nodiscard]] std::string persist();
    // Likewise, and then the range as deep as the medium can.
    [[nodiscard]] std::string deep_persist(std::byte* address, std::size_t size);

private:
    [[nodiscard]] std::string by(MediumCall call, std::byte* address, std::size_t size);

    const Medium& medium_;
    const std::byte* pool_;
    WorkerCounters& counters_;
    std::byte* begin_ = nullptr; // ranges that follow each other are one
    std::size_t size_ = 0;
    bool has_streams_ = false;
};

} // namespace rpmem::target
