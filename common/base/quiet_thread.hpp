// Threads of ours in other people's processes.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpmem {

// Signals are for the other threads: the application's, or the daemon's control loop.
template <typename Body>
std::thread start_without_signals(Body body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

} // namespace rpmem
