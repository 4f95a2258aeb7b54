// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/link_thread.hpp"

#include "common/base/quiet_thread.hpp"

#include <algorithm>
#include <system_error>

namespace rpmem::initiator {

// Runs at the end of the program. Pools that it has not closed get no heartbeats afterwards.
LinkThread::~LinkThread() {
    std::unique_lock lock(shared_.mutex);
    shared_.links.clear();
    std::thread thread = std::move(shared_.thread);
    lock.unlock();
    shared_.changed.notify_all();
    if (thread.joinable())
        thread.join();
}

Result<> LinkThread::add(Link& link) {
    const std::lock_guard lock(shared_.mutex);
    shared_.links.reserve(shared_.links.size() + 1);
    try {
        if (shared_.links.empty())
            shared_.thread = start_without_signals([this] { run(); });
    } catch (const std::system_error& error) {
        return fail_errno(
            ErrorClass::resource_limit, error.code().value(),
            "cannot start the thread for heartbeats; does a limit (ulimit -u) bound the threads?");
    }
    shared_.links.push_back(&link);
    return {};
}

void LinkThread::remove(Link& link) {
    std::unique_lock lock(shared_.mutex);
    std::erase(shared_.links, &link);
    if (!shared_.links.empty() || !shared_.thread.joinable())
        return;
    std::thread thread = std::move(shared_.thread);
    lock.unlock();
    shared_.changed.notify_all();
    thread.join();
}

void LinkThread::run() {
    std::unique_lock lock(shared_.mutex);
    const auto own = std::this_thread::get_id();
    const auto is_over = [&] { return shared_.thread.get_id() != own; };
    while (!shared_.changed.wait_for(lock, interval_, is_over))
        round_(shared_.links, lock);
    if (shared_.links.empty())
        round_({}, lock);
}

} // namespace rpmem::initiator
