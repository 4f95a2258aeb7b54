// SPDX-License-Identifier: BSD-3-Clause
// pthread_cancel(3) of a thread that is in a call of the library.
#pragma once

#include <pthread.h>

namespace rpmem::initiator {

// While it lives, the thread is not cancelled: the call ends first, and the request stays pending.
// Unwinding a call would leave a lane with half a frame, or a lock taken. The fast paths of persist
// and flush do without: their system calls are no cancellation points, see uncancelled_calls.cpp.
class Uncancelled {
public:
    Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace rpmem::initiator
