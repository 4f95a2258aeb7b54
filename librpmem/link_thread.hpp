// SPDX-License-Identifier: BSD-3-Clause
// Calls a function on all links of this process periodically: the heartbeats. The thread exists
// only while links exist.
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
    // LOCK keeps the links there. A round may release it, and does not use them then; it throws
    // nothing. Without links, the round is the last one.
    using Round =
        std::function<void(std::span<Link* const> links, std::unique_lock<std::mutex>& lock)>;

    LinkThread(std::chrono::milliseconds interval, Round round)
        : interval_(interval), round_(std::move(round)) {}
    ~LinkThread();
    LinkThread(const LinkThread&) = delete;
    LinkThread& operator=(const LinkThread&) = delete;

    // From any thread, as is remove(), which returns when no round uses LINK any more. Fails if
    // there can be no thread.
    Result<> add(Link& link);
    // The last one ends the thread.
    void remove(Link& link);

private:
    // A child made by fork(2) has none of this, and begins anew.
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
