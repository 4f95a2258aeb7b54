// SPDX-License-Identifier: BSD-3-Clause
// Threads, mutexes and condition variables of simulated processes. They are fibers that wait on the
// simulated clock. thread_functions.cpp forwards the calls to them.
#pragma once

#include "tests/simulation/world.hpp"

#include <pthread.h>

#include <map>
#include <vector>

namespace rpmem::simulation {

class Threads {
public:
    explicit Threads(World& world) : world_(world) { running = this; }
    ~Threads() { running = nullptr; }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    // Returns null if the caller is not a fiber. Then the real functions are called.
    [[nodiscard]] static Threads* current() {
        return running && running->world_.current() ? running : nullptr;
    }

    pthread_t start(void* (*body)(void*), void* argument) {
        const pthread_t id = ++last_id_;
        Fiber* const fiber = world_.start("thread", [this, id, body, argument] {
            body(argument);
            fibers_.erase(id);
            wake_all(joining_);
        });
        fibers_[id] = fiber;
        return id;
    }
    void join(pthread_t id) {
        while (fibers_.contains(id))
            wait_for(joining_, nullptr, never);
    }
    [[nodiscard]] pthread_t self() const {
        for (const auto& [id, fiber] : fibers_)
            if (fiber == world_.current())
                return id;
        return 1;
    }

    template <typename Try>
    void lock(const pthread_mutex_t* mutex, Try try_to_lock) {
        if (world_.random().chance(yields))
            world_.yield();
        while (!try_to_lock())
            wait_for(locking_, mutex, never);
    }
    void unlocked(const pthread_mutex_t* mutex) { wake(locking_, mutex); }
    // Returns false after a timeout.
    bool wait(const void* condition, Time until) {
        wait_for(waiting_, condition, until);
        return world_.now() < until && !world_.is_in_vacuum();
    }
    void notify(const void* condition) { wake(waiting_, condition); }
    [[nodiscard]] World& world() { return world_; }

private:
    static constexpr unsigned yields = 3; // percent of the locks that let another thread run first

    struct Waiter {
        const void* what;
        Fiber* fiber;
    };
    void wait_for(std::vector<Waiter>& waiters, const void* what, Time until) {
        Fiber* const self = world_.current();
        waiters.push_back({what, self});
        world_.block(until);
        std::erase_if(waiters, [self](const Waiter& each) { return each.fiber == self; });
    }
    void wake(const std::vector<Waiter>& waiters, const void* what) {
        for (const Waiter& each : waiters)
            if (each.what == what)
                world_.wake(each.fiber);
    }
    void wake_all(const std::vector<Waiter>& waiters) {
        for (const Waiter& each : waiters)
            world_.wake(each.fiber);
    }

    static inline Threads* running = nullptr;

    World& world_;
    pthread_t last_id_ = 1; // 1 is the id of fibers that were not started here
    std::map<pthread_t, Fiber*> fibers_;
    std::vector<Waiter> joining_;
    std::vector<Waiter> locking_;
    std::vector<Waiter> waiting_;
};

} // namespace rpmem::simulation
