// SPDX-License-Identifier: BSD-3-Clause
// The library's one thread: it tells targets that this process lives, and notices those that do
// not. It is there while a pool is open whose target knows heartbeats.
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/log.hpp"
#include "common/base/result.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::initiator {

class Link;

class Heartbeats {
public:
    // STATS_DIR: where statistics are written; empty: nowhere. LOG: what is wrong with that.
    explicit Heartbeats(std::string stats_dir = {}, Log log = {})
        : stats_dir_(std::move(stats_dir)), log_(std::move(log)) {}
    ~Heartbeats();
    Heartbeats(const Heartbeats&) = delete;
    Heartbeats& operator=(const Heartbeats&) = delete;

    // From any thread. LINK's beat() is called once a second until remove() has returned. Fails if
    // there can be no thread.
    Result<> add(Link& link);
    [[nodiscard]] bool writes_statistics() const { return !stats_dir_.empty(); }
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
    void write_statistics(std::unique_lock<std::mutex>& lock);

    const std::string stats_dir_;
    Log log_;
    Shared shared_;
    ForkListener in_children_{
        [](void* owner) { new (&static_cast<Heartbeats*>(owner)->shared_) Shared(); }, this};
};

} // namespace rpmem::initiator
