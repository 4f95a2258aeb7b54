// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/replica.hpp"

#include "common/base/deadline.hpp"

#include <thread>

namespace rpmem::initiator {

bool Replica::change(ReplicaState from, ReplicaState next) {
    if (!state_.compare_exchange_strong(from, next))
        return false;
    // A call that has read the state and does not wait yet must not miss the notification.
    const std::lock_guard lock(mutex_);
    joined_.notify_all();
    return true;
}

void Replica::leave_to(ReplicaState next) {
    ReplicaState now = state();
    while (now != ReplicaState::failed && now != ReplicaState::stale && !change(now, next))
        now = state();
}

bool Replica::mark(unsigned lane, const PoolRange& own, std::vector<PoolRange>& ranges) {
    Lane& slot = lanes_[lane];
    if (!begin_mark(slot))
        return false;
    bool is_new = own.length != 0 && map_.mark(own.offset, own.length);
    for (const PoolRange& range : ranges)
        is_new |= map_.mark(range.offset, range.length);
    slot.is_marking.store(false, std::memory_order_release);
    ranges.clear();
    if (const auto pause = pause_.load(); is_new && pause.count() > 0)
        std::this_thread::sleep_for(pause);
    return true;
}

// Each iteration waits for a join for at most gate_time(), and ends a join that takes longer. There
// is another iteration only if the thread that catches up has made a pass and begins the next join
// before this call reads the state.
bool Replica::begin_mark(Lane& lane) {
    while (true) {
        lane.is_marking.store(true);
        const ReplicaState now = state_.load();
        if (now == ReplicaState::away || now == ReplicaState::catching_up ||
            now == ReplicaState::paused || now == ReplicaState::failed)
            return true;
        lane.is_marking.store(false);
        if (now != ReplicaState::joining)
            return false;
        await_join();
    }
}

// Ends a join that takes too long. The thread that catches up makes another pass before it tries
// again.
void Replica::await_join() {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return state() != ReplicaState::joining; };
    if (joined_.wait_for(lock, gate_time(), is_over))
        return;
    ReplicaState joining = ReplicaState::joining;
    state_.compare_exchange_strong(joining, ReplicaState::catching_up);
}

bool Replica::close_gate(std::chrono::milliseconds time) {
    if (!change(ReplicaState::catching_up, ReplicaState::joining))
        return false;
    const Deadline deadline(time);
    for (unsigned lane = 0; lane < lane_count_; ++lane)
        while (lanes_[lane].is_marking.load()) {
            if (deadline.passed()) {
                change(ReplicaState::joining, ReplicaState::catching_up);
                return false;
            }
            std::this_thread::yield();
        }
    return true;
}

} // namespace rpmem::initiator
