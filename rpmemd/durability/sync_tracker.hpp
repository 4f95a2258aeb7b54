// SPDX-License-Identifier: BSD-3-Clause
// The syncs of one part that are in progress. Linux reports a failed write-back once for each open
// file, to any one of the syncs that wait for it. All syncs of a part use the same open file. So
// the success of a sync means nothing while another one of the same part is in progress, because
// that one may receive the error of the first.
#pragma once

#include "common/base/cache_line.hpp"
#include "rpmemd/durability/failure_latch.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace rpmem::target {

class SyncTracker {
public:
    // LATCH belongs to the pool and must outlive this.
    SyncTracker(FailureLatch& latch, std::string part) : latch_(latch), part_(std::move(part)) {}
    SyncTracker(const SyncTracker&) = delete;
    SyncTracker& operator=(const SyncTracker&) = delete;

    // Calls SYNC, which makes LENGTH bytes at OFFSET of the part durable and returns 0 or a
    // positive errno value. Returns 0 if SYNC and every sync of this part that overlapped it
    // succeeded. Only then may the bytes be acknowledged. Otherwise returns the first failure of
    // the pool, now and in all later calls, which do not call SYNC any more. The failure is
    // ETIMEDOUT if an overlapping sync does not return.
    template <typename Sync>
    [[nodiscard]] int run(std::uint64_t offset, std::uint64_t length, Sync sync) {
        if (const int failed = latch_.code(); failed != 0)
            return failed;
        Slot& slot = enter();
        int code = 0;
        try {
            code = sync();
        } catch (...) { // out of memory; other syncs must not wait for this one
            static_cast<void>(leave(slot));
            throw;
        }
        if (code != 0)
            latch_.set(part_, offset, length, code);
        if (leave(slot))
            wait_for_others(offset, length);
        return latch_.code();
    }

private:
    // The number is odd while a sync is in progress.
    struct alignas(cache_line) Slot {
        std::atomic<std::uint32_t> number = 0;
        std::atomic<std::uint32_t> waiters = 0;
    };
    // Maximum number of syncs in progress. Further ones wait.
    static constexpr std::size_t max_at_a_time = 64;

    Slot& enter();
    bool leave(Slot& slot); // returns whether others are in progress
    void wait_for_others(std::uint64_t offset, std::uint64_t length);

    FailureLatch& latch_;
    std::string part_;
    alignas(cache_line) std::atomic<std::uint32_t> under_way_ = 0;
    std::array<Slot, max_at_a_time> slots_;
};

} // namespace rpmem::target
