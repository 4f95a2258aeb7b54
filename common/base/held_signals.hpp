// SPDX-License-Identifier: BSD-3-Clause
// Blocks the signals that a failed write raises in addition to its error. Without it they would
// end an application that only loaded the library.
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace rpmem {

// A write to a pipe without a reader raises SIGPIPE. A write beyond the file size limit (ulimit -f)
// raises SIGXFSZ. The kernel sends both to the calling thread. While this object exists they are
// blocked in that thread, and its destructor removes those that became pending. The signal
// dispositions belong to the application and do not change.
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
