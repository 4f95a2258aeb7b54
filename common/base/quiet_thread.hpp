// SPDX-License-Identifier: BSD-3-Clause
// Threads of ours in other people's processes.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpmem {

// Signals are for the other threads: the application's, or the daemon's control loop. But a fault
// comes to the thread that made it, and so does the refusal of a system call (SIGSYS): where it is
// blocked, the kernel ends the process and no handler can say why.
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
    const Blocked blocked; // the new thread inherits this, and it ends here even if there is none
    return std::thread(std::move(body));
}

} // namespace rpmem
