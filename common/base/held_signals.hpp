// SPDX-License-Identifier: BSD-3-Clause
// Keeps signals that a system call raises beside its error from ending a program that only loaded
// the library.
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace rpmem {

// Writing to a pipe that nobody reads raises SIGPIPE, and a file that would grow beyond the limit
// (ulimit -f) raises SIGXFSZ. Both come to the thread of the call. While this object lives they are
// blocked there; those that its calls raised are removed at the end. The dispositions of the
// process belong to the application and stay as they are.
class HeldSignals {
public:
    HeldSignals() {
        ::sigpending(&pending_before_);
        ::sigemptyset(&held_);
        for (const int signal : {SIGPIPE, SIGXFSZ})
            if (::sigismember(&pending_before_, signal) != 1)
                ::sigaddset(&held_, signal);
        ::pthread_sigmask(SIG_BLOCK, &held_, &mask_before_);
    }
    ~HeldSignals() {
        const timespec now{};
        while (::sigtimedwait(&held_, nullptr, &now) > 0) { // usually there is none
        }
        ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

private:
    sigset_t pending_before_{};
    sigset_t held_{};
    sigset_t mask_before_{};
};

} // namespace rpmem
