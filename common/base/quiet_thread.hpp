// SPDX-License-Identifier: BSD-3-Clause
// Starts threads that do not receive the signals meant for the application.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpmem {

// Starts a thread in which all signals are blocked except faults, SIGABRT and SIGSYS. The blocked
// ones are meant for the application's threads or the daemon's control loop. The kernel sends a
// fault to the thread that caused it. If that thread blocked it, the kernel would end the process
// before a handler could report why.
template <typename Body>
std::thread start_without_signals(Body body) {
    struct Blocked {
        sigset_t before;
        Blocked() {
            sigset_t all;
            sigfillset(&all);
            for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
                sigdelset(&all, fault);
            pthread_sigmask(SIG_SETMASK, &all, &before);
        }
        ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
        Blocked(const Blocked&) = delete;
        Blocked& operator=(const Blocked&) = delete;
    };
    const Blocked blocked; // inherited by the thread, and undone here even if it cannot be started
    return std::thread(std::move(body));
}

} // namespace rpmem
