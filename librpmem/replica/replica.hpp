// SPDX-License-Identifier: BSD-3-Clause
// What the replica of a pool lacks while the program goes on without it (RPMEM_ON_LOSS=alone).
// Replica::change() changes the state:
//
//   from         | to           | when
//   in_sync      | away         | a call has given up on the lost session
//   away         | catching_up  | a session is open, and the record of the target says so
//   catching_up  | joining      | little is left to send, and calls wait until it is sent
//   joining      | in_sync      | everything is durable there; the record of the target follows
//   joining      | catching_up  | a call is in the way, or has waited for gate_time()
//   catching_up, | away         | that session is lost
//   joining      |              |
//   any          | paused       | an operator has paused it (rpmemctl pause)
//   paused       | away         | the operator has resumed it
//   any          | failed       | the medium of the target has failed, or this memory is unreadable
//   any          | stale        | the target has a newer owner (ESTALE), or an internal error
//
// In away, catching_up, paused and failed, calls do not send. They mark the blocks that they would
// have made durable. In joining they wait first. A mark and the join exclude each other without a
// lock: a call first stores that it is marking, and then loads the state. A join first stores the
// state, and then loads whether a call is marking. So at least one of them sees the other.
#pragma once

#include "common/base/cache_line.hpp"
#include "librpmem/lanes/pool_range.hpp"
#include "librpmem/replica/block_map.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace rpmem::initiator {

enum class ReplicaState { in_sync, away, catching_up, joining, paused, failed, stale };

class Replica {
public:
    // Calls wait at most gate_time() for a join: 50 ms, and longer after an attempt that failed.
    static constexpr std::chrono::milliseconds min_gate_time{50};
    [[nodiscard]] std::chrono::milliseconds gate_time() const { return gate_time_; }
    void set_gate_time(std::chrono::milliseconds time) { gate_time_ = time; }

    Replica(std::size_t pool_size, unsigned lanes)
        : map_(pool_size), lane_count_(lanes), lanes_(std::make_unique<Lane[]>(lanes)) {}

    [[nodiscard]] ReplicaState state() const { return state_.load(); }
    // Whether calls mark blocks instead of sending them.
    [[nodiscard]] bool lacks_calls() const {
        const ReplicaState state = state_.load(std::memory_order_relaxed);
        return state != ReplicaState::in_sync && state != ReplicaState::stale;
    }
    // Changes the state to NEXT if it is FROM. Returns whether it was.
    bool change(ReplicaState from, ReplicaState next);
    // Changes the state to NEXT, which is away, paused, failed or stale. The last two are never
    // left.
    void leave_to(ReplicaState next);

    // Marks the blocks of OWN, unless it is empty, and of RANGES, and clears RANGES. Returns false,
    // and marks nothing, if calls must send their ranges, because the replica has joined or is
    // stale. One thread at a time may use LANE.
    [[nodiscard]] bool mark(unsigned lane, const PoolRange& own, std::vector<PoolRange>& ranges);
    // Changes catching_up to joining. Returns false, and changes it back, if a call is still
    // marking after TIME: its thread may have been stopped.
    [[nodiscard]] bool close_gate(std::chrono::milliseconds time);
    // Each call that marks a clean block then waits for TIME, so that the program does not write
    // faster than the link. 0: no wait.
    void slow_down(std::chrono::microseconds time) { pause_ = time; }
    [[nodiscard]] std::chrono::microseconds pause() const { return pause_; }

    [[nodiscard]] BlockMap& map() { return map_; }

private:
    struct alignas(cache_line) Lane {
        std::atomic<bool> is_marking = false;
    };

    [[nodiscard]] bool begin_mark(Lane& lane);
    void await_join();

    std::atomic<ReplicaState> state_ = ReplicaState::in_sync;
    BlockMap map_;
    unsigned lane_count_;
    std::unique_ptr<Lane[]> lanes_;
    std::atomic<std::chrono::microseconds> pause_{};
    std::atomic<std::chrono::milliseconds> gate_time_ = min_gate_time;
    std::mutex mutex_; // for the condition variable only
    std::condition_variable joined_;
};

} // namespace rpmem::initiator
