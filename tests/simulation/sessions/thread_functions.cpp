// SPDX-License-Identifier: BSD-3-Clause
// The functions of the C and C++ libraries by which both ends start threads, and wait for them: see
// system_functions.cpp.
#include "tests/simulation/sessions/threads.hpp"

#include <pthread.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>

using rpmem::simulation::second;
using rpmem::simulation::Threads;
using rpmem::simulation::Time;

namespace {

Time time_of(const timespec& time) {
    return static_cast<Time>(time.tv_sec) * second + static_cast<Time>(time.tv_nsec);
}

} // namespace

#define STANDS_FOR(result, name, ...)                                                              \
    extern "C" result __real_##name(__VA_ARGS__);                                                  \
    extern "C" result __wrap_##name(__VA_ARGS__);                                                  \
    extern "C" result __wrap_##name(__VA_ARGS__)

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

STANDS_FOR(pthread_t, pthread_self, void) {
    const Threads* const threads = Threads::current();
    return threads ? threads->self() : __real_pthread_self();
}

// Those of a simulation come from its plan.
STANDS_FOR(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* before) {
    return Threads::current() ? 0 : __real_pthread_sigmask(how, set, before);
}

STANDS_FOR(int, sigaction, int number, const struct sigaction* action, struct sigaction* before) {
    return Threads::current() ? 0 : __real_sigaction(number, action, before);
}

// Those of the C++ library have no names of C.
namespace rpmem::simulation {

using Start = void(std::thread*, std::unique_ptr<std::thread::_State>, void (*)());
Start real_start __asm__(
    "__real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
Start simulated_start __asm__(
    "__wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
void real_join(std::thread* thread) __asm__("__real__ZNSt6thread4joinEv");
void simulated_join(std::thread* thread) __asm__("__wrap__ZNSt6thread4joinEv");
using Wait = void(std::condition_variable*, std::unique_lock<std::mutex>&);
Wait real_wait __asm__("__real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
Wait simulated_wait __asm__("__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
using Notify = void(std::condition_variable*);
Notify real_notify __asm__("__real__ZNSt18condition_variable10notify_allEv");
Notify simulated_notify __asm__("__wrap__ZNSt18condition_variable10notify_allEv");

// A std::thread is its id.
static_assert(sizeof(std::thread) == sizeof(pthread_t));

void simulated_start(std::thread* thread, std::unique_ptr<std::thread::_State> state,
                     void (*depends)()) {
    if (Threads* const threads = Threads::current())
        *reinterpret_cast<pthread_t*>(thread) = threads->start(std::move(state));
    else
        real_start(thread, std::move(state), depends);
}

void simulated_join(std::thread* thread) {
    Threads* const threads = Threads::current();
    if (!threads)
        return real_join(thread);
    auto& id = *reinterpret_cast<pthread_t*>(thread);
    threads->join(id);
    id = 0;
}

void simulated_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
    Threads* const threads = Threads::current();
    if (!threads)
        return real_wait(condition, lock);
    lock.unlock();
    threads->wait(condition, never);
    lock.lock();
}

void simulated_notify(std::condition_variable* condition) {
    if (Threads* const threads = Threads::current())
        threads->notify(condition);
    else
        real_notify(condition);
}

} // namespace rpmem::simulation
