// SPDX-License-Identifier: BSD-3-Clause
// Defers pthread_cancel(3) of a thread that is in a call of the library.
#pragma once

#include <pthread.h>

namespace rpmem::initiator {

// While an object exists, its thread is not cancelled, and a request to cancel it stays pending.
// Unwinding a call would leave half a frame on a lane, or a locked mutex. The fast paths of persist
// and flush do not use it: their system calls are not cancellation points, see
// uncancelled_calls.cpp.
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
