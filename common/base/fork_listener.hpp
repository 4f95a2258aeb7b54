// SPDX-License-Identifier: BSD-3-Clause
// Calls objects in the child after fork(2).
#pragma once

#include <mutex>

namespace rpmem {

// While a listener exists, every child calls FORKED(OWNER) before fork(2) returns in it. FORKED may
// only call async-signal-safe functions: the other threads of the parent do not exist in the child,
// so a mutex that they held stays locked for ever. A listener that is never destroyed is global: if
// it were a static variable of a function, the lock of its initialisation would be such a mutex.
class ForkListener {
public:
    using Forked = void (*)(void* owner);

    // Makes threads that call fork(2) wait until the lock is released. Hold it only briefly, while
    // a descriptor exists that no listener closes in a child. No listener may be created or
    // destroyed while it is held.
    [[nodiscard]] static std::unique_lock<std::mutex> hold_forks();

    ForkListener(Forked forked, void* owner);
    ~ForkListener();
    ForkListener(const ForkListener&) = delete;
    ForkListener& operator=(const ForkListener&) = delete;

private:
    static void notify_all();

    Forked forked_;
    void* owner_;
    ForkListener* next_;
    ForkListener* previous_ = nullptr;
};

} // namespace rpmem
