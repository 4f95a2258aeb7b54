// SPDX-License-Identifier: BSD-3-Clause
// Those who have to know that their process is a child that was made by fork(2).
#pragma once

#include <mutex>

namespace rpmem {

// While it lives, FORKED(OWNER) is called in every child, before fork() returns there. Only what a
// signal handler may do is allowed then: the child has none of its parent's other threads, and what
// these held stays locked for ever.
class ForkListener {
public:
    using Forked = void (*)(void* owner);

    // Threads that fork(2) wait until the lock is released, which must be soon. For descriptors
    // that no listener knows yet. No listener is made or destroyed meanwhile.
    [[nodiscard]] static std::unique_lock<std::mutex> hold_forks();

    ForkListener(Forked forked, void* owner);
    ~ForkListener();
    ForkListener(const ForkListener&) = delete;
    ForkListener& operator=(const ForkListener&) = delete;

private:
    static void tell_all();

    Forked forked_;
    void* owner_;
    ForkListener* next_;
    ForkListener* previous_ = nullptr;
};

} // namespace rpmem
