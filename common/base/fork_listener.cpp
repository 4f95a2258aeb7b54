// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/fork_listener.hpp"

#include <pthread.h>

#include <mutex>

namespace rpmem {
namespace {

// These are global because handlers of pthread_atfork(3) get no argument. They have no destructor,
// because threads may call fork(2) while the process ends.
constinit std::mutex listeners_mutex;
constinit ForkListener* first_listener = nullptr;
constinit bool has_handlers = false;

} // namespace

void ForkListener::notify_all() {
    for (ForkListener* listener = first_listener; listener; listener = listener->next_)
        listener->forked_(listener->owner_);
    listeners_mutex.unlock();
}

std::unique_lock<std::mutex> ForkListener::hold_forks() {
    return std::unique_lock(listeners_mutex);
}

ForkListener::ForkListener(Forked forked, void* owner) : forked_(forked), owner_(owner) {
    const std::lock_guard lock(listeners_mutex);
    // dlclose(3) of this library removes the handlers.
    if (!has_handlers)
        has_handlers = ::pthread_atfork([] { listeners_mutex.lock(); },
                                        [] { listeners_mutex.unlock(); }, &notify_all) == 0;
    next_ = first_listener;
    if (next_)
        next_->previous_ = this;
    first_listener = this;
}

ForkListener::~ForkListener() {
    const std::lock_guard lock(listeners_mutex);
    (previous_ ? previous_->next_ : first_listener) = next_;
    if (next_)
        next_->previous_ = previous_;
}

} // namespace rpmem
