// SPDX-License-Identifier: BSD-3-Clause
// The ranges that a lane has stored into the pool and not made durable yet.
#pragma once

#include "rpmemd/durability/medium.hpp"
#include "rpmemd/statistics/worker_counters.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace rpmem::target {

// One thread uses it and updates COUNTERS. POOL is the address of offset 0. MEDIUM, POOL and
// COUNTERS must outlive it. The functions return an empty text, or why a range is not durable.
class DirtyRanges {
public:
    DirtyRanges(const Medium& medium, const std::byte* pool, WorkerCounters& counters)
        : medium_(medium), pool_(pool), counters_(counters) {}

    // Copies DATA into the pool without tearing aligned words, for the next persist().
    [[nodiscard]] std::string copy(std::byte* address, std::span<const std::byte> data);
    // Adds a range that was stored otherwise, for example by RDMA. First makes the earlier ranges
    // durable if this one does not touch them.
    [[nodiscard]] std::string add(std::byte* address, std::size_t size);
    // Makes all ranges durable.
    [[nodiscard]] std::string persist();
    // Makes all ranges durable, and then flushes the given range as deep as the medium supports.
    [[nodiscard]] std::string deep_persist(std::byte* address, std::size_t size);

private:
    [[nodiscard]] std::string by(MediumCall call, std::byte* address, std::size_t size);

    const Medium& medium_;
    const std::byte* pool_;
    WorkerCounters& counters_;
    std::byte* begin_ = nullptr; // adjacent ranges are merged
    std::size_t size_ = 0;
    bool has_streams_ = false;
};

} // namespace rpmem::target
