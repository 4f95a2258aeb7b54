// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/sync_tracker.hpp"

#include "common/base/deadline.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>

namespace rpmem::target {
namespace {

// A sync that has not returned after this time counts as failed, because its result is unknown.
// Disks may retry for several minutes.
constexpr std::chrono::minutes max_sync(10);

// Sleeps while WORD is VALUE, for at most 1 s. Then the caller checks its other conditions.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
    constexpr timespec time{1, 0};
    static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &time, nullptr, 0));
}

bool is_under_way(std::uint32_t number) { return number % 2 == 1; }

} // namespace

// All atomic operations here are memory_order_seq_cst, and the kernel's check of the file's error
// is ordered with them. So if a sync gets no error because another sync received it, the first one
// sees the other one's slot in use, or the failure that it has recorded.
SyncTracker::Slot& SyncTracker::enter() {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t first = threads++ % max_at_a_time; // usually free
    under_way_.fetch_add(1);
    for (std::size_t i = first;; i = (i + 1) % max_at_a_time) {
        Slot& slot = slots_[i];
        std::uint32_t number = slot.number.load();
        if (!is_under_way(number) && slot.number.compare_exchange_strong(number, number + 1))
            return slot;
        if (i == (first + max_at_a_time - 1) % max_at_a_time && is_under_way(number)) {
            // All slots are in use.
            slot.waiters.fetch_add(1);
            sleep_while(slot.number, number);
            slot.waiters.fetch_sub(1);
        }
    }
}

bool SyncTracker::leave(Slot& slot) {
    slot.number.fetch_add(1);
    if (slot.waiters.load() > 0)
        ::syscall(SYS_futex, &slot.number, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    return under_way_.fetch_sub(1) > 1;
}

// Waits for each slot once, because a sync that begins later does not overlap this one.
void SyncTracker::wait_for_others(std::uint64_t offset, std::uint64_t length) {
    const Deadline deadline(max_sync);
    for (Slot& slot : slots_) {
        const std::uint32_t number = slot.number.load();
        if (!is_under_way(number))
            continue;
        slot.waiters.fetch_add(1);
        while (slot.number.load() == number && latch_.code() == 0 && !deadline.passed())
            sleep_while(slot.number, number);
        slot.waiters.fetch_sub(1);
        if (slot.number.load() == number)
            latch_.set(part_, offset, length, ETIMEDOUT);
    }
}

} // namespace rpmem::target
