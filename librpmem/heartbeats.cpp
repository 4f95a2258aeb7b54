// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/heartbeats.hpp"

#include "common/base/quiet_thread.hpp"
#include "common/wire/unasked.hpp"
#include "librpmem/link.hpp"

#include <algorithm>
#include <system_error>

namespace rpmem::initiator {

// Pools that are still open are the program's mistake: they go without heartbeats.
Heartbeats::~Heartbeats() {
    std::unique_lock lock(shared_.mutex);
    shared_.links.clear();
    std::thread thread = std::move(shared_.thread);
    lock.unlock();
    shared_.changed.notify_all();
    if (thread.joinable())
        thread.join();
}

Result<> Heartbeats::add(Link& link) {
    const std::lock_guard lock(shared_.mutex);
    shared_.links.reserve(shared_.links.size() + 1);
    try {
        if (shared_.links.empty())
            shared_.thread = start_without_signals([this] { run(); });
    } catch (const std::system_error& error) {
        return fail_errno(ErrorClass::resource_limit, error.code().value(),
                          "cannot start the thread that tells targets that this process lives; "
                          "does a limit (ulimit -u) bound the threads?");
    }
    shared_.links.push_back(&link);
    return {};
}

void Heartbeats::remove(Link& link) {
    std::unique_lock lock(shared_.mutex);
    std::erase(shared_.links, &link);
    if (!shared_.links.empty() || !shared_.thread.joinable())
        return;
    std::thread thread = std::move(shared_.thread);
    lock.unlock();
    shared_.changed.notify_all();
    thread.join();
}

void Heartbeats::run() {
    std::unique_lock lock(shared_.mutex);
    const auto own = std::this_thread::get_id();
    const auto is_over = [&] { return shared_.thread.get_id() != own; };
    while (!shared_.changed.wait_for(lock, wire::heartbeat_interval, is_over))
        for (Link* const link : shared_.links)
            link->beat();
}

} // namespace rpmem::initiator
