// SPDX-License-Identifier: BSD-3-Clause
// export: writes the counters of the pools of running programs to a file for Prometheus.
#include "common/base/log.hpp"
#include "common/statistics/exposition_file.hpp"
#include "tools/ctl/prometheus.hpp"
#include "tools/ctl/running_pools.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <utility>
#include <vector>

namespace rpmem::ctl {
namespace {

using initiator::LinkState;
using initiator::PoolSnapshot;

// Maximum number of memory files of one user that stay open between two rounds. The file of any
// other pool is closed. When its program ends, its state in the last round counts as the final one.
// Without the limit, a user could exhaust the descriptors of root.
constexpr std::ptrdiff_t max_files_of_user = 128;
// The limit for all users together, below the default limit of 1024 descriptors.
constexpr std::ptrdiff_t max_files = 512;
// Maximum number of failed pools that are kept after their programs have ended.
constexpr std::size_t max_given_up = 256;

struct WatchedPool {
    RunningPool pool;
    UniqueFd file; // empty if a limit was reached
};

bool is_of_same_name(const RunningPool& one, const RunningPool& other) {
    return one.user == other.user && one.counts.facts.name == other.counts.facts.name;
}

// Keeps the memory files of all pools open between two rounds. So it can read the final state of a
// pool even if its program has ended in the meantime.
class Exporter {
public:
    explicit Exporter(statistics::ExpositionFile file) : file_(std::move(file)) {}

    Result<> write_once() {
        watch();
        std::vector<PoolSnapshot> pools;
        for (const WatchedPool& each : watched_)
            pools.push_back(each.pool.counts);
        for (const RunningPool& each : given_up_)
            pools.push_back(each.counts);
        return file_.replace(metrics_of(pools, static_cast<std::uint64_t>(std::time(nullptr))));
    }
    void remove() const { file_.remove(); }

private:
    void watch() {
        std::vector<WatchedPool> now;
        static_cast<void>(find_running_pools(
            "", ::geteuid() == 0 ? Users::all : Users::own,
            [&](const RunningPool& pool, UniqueFd file) {
                const auto is_kept = [](const WatchedPool& each) { return bool(each.file); };
                const auto is_kept_of_user = [&](const WatchedPool& each) {
                    return each.pool.user == pool.user && each.file;
                };
                const bool has_room =
                    std::ranges::count_if(now, is_kept) < max_files &&
                    std::ranges::count_if(now, is_kept_of_user) < max_files_of_user;
                now.push_back({pool, has_room ? std::move(file) : UniqueFd()});
            }));
        for (WatchedPool& before : watched_)
            if (std::ranges::none_of(now, [&](const WatchedPool& each) {
                    return is_same(each.pool.counts, before.pool.counts);
                }))
                keep_if_failed(before);
        watched_ = std::move(now);
        std::erase_if(given_up_, [&](const RunningPool& pool) {
            return std::ranges::any_of(watched_, [&](const WatchedPool& each) {
                return is_of_same_name(each.pool, pool);
            });
        });
    }

    void keep_if_failed(WatchedPool& ended) {
        RunningPool& pool = ended.pool;
        if (ended.file) {
            auto last = initiator::read_counters(ended.file.get());
            if (last) {
                last->process = pool.counts.process;
                pool.counts = *last;
            }
        }
        if (pool.counts.facts.state != LinkState::failed)
            return;
        std::erase_if(given_up_,
                      [&](const RunningPool& earlier) { return is_of_same_name(earlier, pool); });
        if (given_up_.size() == max_given_up)
            given_up_.erase(given_up_.begin());
        given_up_.push_back(std::move(pool));
    }

    statistics::ExpositionFile file_;
    std::vector<WatchedPool> watched_;
    std::vector<RunningPool> given_up_; // oldest first
};

int report(const Error& error) {
    fmt::print(stderr, "rpmemctl: {}\n", printable(error.text));
    return status_failed;
}

// Writes until SIGINT or SIGTERM. A failed write is retried in the next round, because a full disk
// may have room by then.
int write_periodically(Exporter& exporter, unsigned seconds) {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM})
        sigaddset(&ends, signal);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    const timespec pause{.tv_sec = static_cast<time_t>(seconds), .tv_nsec = 0};
    bool is_reported = false;
    do {
        const auto written = exporter.write_once();
        if (!written && !std::exchange(is_reported, true))
            static_cast<void>(report(written.error()));
        if (written)
            is_reported = false;
    } while (::sigtimedwait(&ends, nullptr, &pause) < 0);
    exporter.remove(); // the values would become stale
    return status_done;
}

} // namespace

// Each user has a separate file, because several users may export into one directory.
int export_metrics(const Command& command) {
    auto file =
        statistics::ExpositionFile::open(command.textfile, fmt::format("rpmemctl-{}", ::geteuid()));
    if (!file)
        return report(file.error());
    Exporter exporter(std::move(*file));
    if (command.interval > 0)
        return write_periodically(exporter, command.interval);
    const auto written = exporter.write_once();
    return written ? status_done : report(written.error());
}

} // namespace rpmem::ctl
