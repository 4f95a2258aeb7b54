// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/heartbeats.hpp"

#include "common/base/quiet_thread.hpp"
#include "common/statistics/exposition.hpp"
#include "common/wire/unasked.hpp"
#include "librpmem/link.hpp"
#include "librpmem/statistics/prometheus.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>

namespace rpmem::initiator {
namespace {

// Statistics are written so often, in beats: Prometheus asks every 15 seconds, as a rule.
constexpr unsigned beats_between_files = 10;

std::string file_name() { return fmt::format("librpmem-{}.prom", ::getpid()); }

} // namespace

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
    for (unsigned beats = 0; !shared_.changed.wait_for(lock, wire::heartbeat_interval, is_over);
         ++beats) {
        for (Link* const link : shared_.links)
            link->beat();
        if (writes_statistics() && beats % beats_between_files == 0)
            write_statistics(lock);
    }
    // What does not count any more is not there any more.
    if (writes_statistics() && shared_.links.empty())
        static_cast<void>(::unlink((stats_dir_ + "/" + file_name()).c_str()));
}

// A slow disk keeps nobody from closing a pool: LOCK is released while it is written to.
void Heartbeats::write_statistics(std::unique_lock<std::mutex>& lock) try {
    std::vector<PoolSnapshot> pools;
    for (const Link* const link : shared_.links)
        if (auto pool = link->statistics())
            pools.push_back(*pool);
    lock.unlock();
    const auto written = statistics::replace_file(stats_dir_, file_name(), metrics_of(pools));
    if (!written)
        log_.error_of_kind("statistics", "RPMEM_STATS_DIR: " + written.error().text);
    lock.lock();
} catch (const std::exception&) { // no memory: the next file is more important than this one
    if (!lock.owns_lock())
        lock.lock();
}

} // namespace rpmem::initiator
