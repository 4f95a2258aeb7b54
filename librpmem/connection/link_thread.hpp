// SPDX-License-Identifier: BSD-3-Clause
// A thread that periodically calls a function on all links of this process, to send heartbeats. It
// exists only while links exist.
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/result.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace rpmem::initiator {

class Link;

class LinkThread {
public:
    // LINKS exist while LOCK is held. A round may release LOCK, but must not use LINKS while it is
    // released. It must not throw. A round without links is the last one of the thread.
    using Round =
        std::function<void(std::span<Link* const> links, std::unique_lock<std::mutex>& lock)>;

    LinkThread(std::chrono::milliseconds interval, Round round)
        : interval_(interval), round_(std::move(round)) {}
    ~LinkThread();
    LinkThread(const LinkThread&) = delete;
    LinkThread& operator=(const LinkThread&) = delete;

    // Starts the thread for the first link. Fails if it cannot be started. Thread-safe.
    Result<> add(Link& link);
    // Returns when no round uses LINK any more. Ends the thread with the last link. Thread-safe.
    void remove(Link& link);

private:
    // A child made by fork(2) starts with an empty one, because the thread does not exist there.
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<Link*> links;
        std::thread thread;
    };

    void run();

    const std::chrono::milliseconds interval_;
    const Round round_;
    Shared shared_;
    ForkListener in_children_{
        [](void* owner) { new (&static_cast<LinkThread*>(owner)->shared_) Shared(); }, this};
};

} // namespace rpmem::initiator
