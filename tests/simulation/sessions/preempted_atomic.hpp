// SPDX-License-Identifier: BSD-3-Clause
// Compiles the marks and the states of Replica and BlockMap with atomics at which a thread can be
// preempted. Fibers yield only where they wait, so without it no other thread could run between two
// operations that take no lock. CMakeLists.txt includes this file before the first line of
// librpmem/replica/{block_sender,catch_up,replica}.cpp. All other headers are included here first,
// so that nothing else is changed.
#pragma once

#include "common/base/cache_line.hpp"
#include "common/base/deadline.hpp"
#include "librpmem/connection/link.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/lanes/pool_range.hpp"

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

namespace rpmem::simulation::sessions {

// Lets other threads run for a while, sometimes. Does nothing outside of a simulated program.
void may_be_preempted();
// Planted faults: see planted.hpp.
[[nodiscard]] bool tests_marks_first();
[[nodiscard]] bool clears_marks_late(std::atomic<std::uint64_t>& word, std::uint64_t kept);

} // namespace rpmem::simulation::sessions

namespace std { // NOLINT(cert-dcl58-cpp): the product names std::atomic

// Has the layout of the class that it stands for.
template <typename T>
class preempted_atomic : public atomic<T> {
public:
    using atomic<T>::atomic;
    using atomic<T>::operator=;

    T load(memory_order order = memory_order_seq_cst) const {
        rpmem::simulation::sessions::may_be_preempted();
        return atomic<T>::load(order);
    }
    void store(T value, memory_order order = memory_order_seq_cst) {
        rpmem::simulation::sessions::may_be_preempted();
        atomic<T>::store(value, order);
        rpmem::simulation::sessions::may_be_preempted();
    }
    bool compare_exchange_strong(T& expected, T value) {
        rpmem::simulation::sessions::may_be_preempted();
        return atomic<T>::compare_exchange_strong(expected, value);
    }
    T fetch_or(T bits) {
        rpmem::simulation::sessions::may_be_preempted();
        if (!rpmem::simulation::sessions::tests_marks_first())
            return atomic<T>::fetch_or(bits);
        const T before = atomic<T>::load();
        for (unsigned i = 0; i < 4; ++i)
            rpmem::simulation::sessions::may_be_preempted();
        atomic<T>::store(before | bits);
        return before;
    }
    T fetch_and(T kept) {
        if (rpmem::simulation::sessions::clears_marks_late(*this, kept))
            return atomic<T>::load();
        const T before = atomic<T>::fetch_and(kept);
        rpmem::simulation::sessions::may_be_preempted();
        return before;
    }
};

} // namespace std

#define atomic preempted_atomic
#include "librpmem/replica/block_map.hpp"
#include "librpmem/replica/replica.hpp"
#undef atomic
