// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of the C library that start threads and wait for them, also where the C++
// library calls them: see system_functions.cpp.
#include "tests/simulation/interposed.hpp"
#include "tests/simulation/sessions/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <csignal>
#include <ctime>

using rpmem::simulation::next_of;
using rpmem::simulation::second;
using rpmem::simulation::Threads;
using rpmem::simulation::Time;

namespace {

Time time_of(const timespec& time) {
    return static_cast<Time>(time.tv_sec) * second + static_cast<Time>(time.tv_nsec);
}

} // namespace

STANDS_FOR(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
    Threads* const threads = Threads::current();
    if (!threads)
        return __real_pthread_mutex_lock(mutex);
    threads->lock(mutex, [mutex] { return ::pthread_mutex_trylock(mutex) == 0; });
    return 0;
}

STANDS_FOR(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
    const int code = __real_pthread_mutex_unlock(mutex);
    if (Threads* const threads = Threads::current())
        threads->unlocked(mutex);
    return code;
}

STANDS_FOR(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex,
           clockid_t clock, const timespec* until) {
    Threads* const threads = Threads::current();
    if (!threads)
        return __real_pthread_cond_clockwait(condition, mutex, clock, until);
    __wrap_pthread_mutex_unlock(mutex);
    const bool in_time = threads->wait(condition, time_of(*until));
    __wrap_pthread_mutex_lock(mutex);
    return in_time ? 0 : ETIMEDOUT;
}

STANDS_FOR(int, nanosleep, const timespec* time, timespec* left) {
    Threads* const threads = Threads::current();
    if (!threads)
        return __real_nanosleep(time, left);
    threads->world().sleep(time_of(*time));
    return 0;
}

// The caller spins, and the clock must go on meanwhile.
STANDS_FOR(int, sched_yield, void) {
    Threads* const threads = Threads::current();
    if (!threads)
        return __real_sched_yield();
    threads->world().sleep(rpmem::simulation::microsecond * 20);
    return 0;
}

STANDS_FOR(pthread_t, pthread_self, void) {
    const Threads* const threads = Threads::current();
    return threads ? threads->self() : __real_pthread_self();
}

// Signals of a simulation come from its plan, so masks and handlers are ignored.
STANDS_FOR(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* before) {
    return Threads::current() ? 0 : __real_pthread_sigmask(how, set, before);
}

STANDS_FOR(int, sigaction, int number, const struct sigaction* action, struct sigaction* before) {
    return Threads::current() ? 0 : __real_sigaction(number, action, before);
}

// The C++ library calls these from its own shared object.
TAKES_THE_PLACE_OF(int, pthread_create, pthread_t* id, const pthread_attr_t* attributes,
                   void* (*body)(void*), void* argument) {
    static auto* const next = next_of("pthread_create", &pthread_create);
    Threads* const threads = Threads::current();
    if (!threads)
        return next(id, attributes, body, argument);
    *id = threads->start(body, argument);
    return 0;
}

TAKES_THE_PLACE_OF(int, pthread_join, pthread_t id, void** result) {
    static auto* const next = next_of("pthread_join", &pthread_join);
    Threads* const threads = Threads::current();
    if (!threads)
        return next(id, result);
    threads->join(id);
    return 0;
}

TAKES_THE_PLACE_OF(int, pthread_detach, pthread_t id) {
    static auto* const next = next_of("pthread_detach", &pthread_detach);
    return Threads::current() ? 0 : next(id);
}

TAKES_THE_PLACE_OF(int, pthread_cond_wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static auto* const next = next_of("pthread_cond_wait", &pthread_cond_wait);
    Threads* const threads = Threads::current();
    if (!threads)
        return next(condition, mutex);
    __wrap_pthread_mutex_unlock(mutex);
    threads->wait(condition, rpmem::simulation::never);
    __wrap_pthread_mutex_lock(mutex);
    return 0;
}

TAKES_THE_PLACE_OF(int, pthread_cond_broadcast, pthread_cond_t* condition) {
    static auto* const next = next_of("pthread_cond_broadcast", &pthread_cond_broadcast);
    Threads* const threads = Threads::current();
    if (!threads)
        return next(condition);
    threads->notify(condition);
    return 0;
}
