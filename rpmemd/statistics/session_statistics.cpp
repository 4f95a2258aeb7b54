// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/statistics/session_statistics.hpp"

#include "common/base/quiet_thread.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

namespace rpmem::target {
namespace {

constexpr std::chrono::milliseconds interval = statistics::write_interval;
constexpr std::string_view program = "rpmemd";

// Lets an exporter of another user read the file. A confined session cannot change the mode, and
// creates no other file.
constexpr mode_t mask_when_confined = 022;

std::uint64_t seconds_since_1970() {
    return static_cast<std::uint64_t>(
        std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

} // namespace

SessionStatistics::SessionStatistics(const std::filesystem::path& directory, Log log)
    : log_(std::move(log)) {
    if (directory.empty())
        return;
    auto stop = Event::make();
    auto file = statistics::ExpositionFile::open(directory,
                                                 statistics::stem_of_process(program, ::getpid()));
    if (!stop || !file) {
        warn(stop ? file.error().text : stop.error().text);
        return;
    }
    stop_.emplace(std::move(*stop));
    file_.emplace(std::move(*file));
    file_->remove_of_the_dead(program);
}

SessionStatistics::~SessionStatistics() {
    if (!thread_.joinable())
        return;
    stop_->raise();
    thread_.join();
    file_->remove();
}

int SessionStatistics::prepare_confinement() const {
    if (!file_)
        return -1;
    ::umask(mask_when_confined);
    return file_->directory();
}

void SessionStatistics::start(SessionFacts facts,
                              std::vector<std::shared_ptr<const WorkerCounters>> workers) {
    if (!file_)
        return;
    facts.began = seconds_since_1970();
    facts.process = ::getpid();
    nanoseconds_of_tick_ = statistics::nanoseconds_of_tick(opened_, statistics::moment());
    try {
        thread_ = start_without_signals([this, facts = std::move(facts),
                                         workers = std::move(workers)] { run(facts, workers); });
    } catch (const std::system_error& error) {
        warn(std::string("cannot start a thread: ") + error.what());
    }
}

// Writes the file at once, and then after each interval. Only the first failure is logged, but
// later writes are still tried: a full disk may have room again.
void SessionStatistics::run(const SessionFacts& facts,
                            const std::vector<std::shared_ptr<const WorkerCounters>>& workers) {
    pollfd stop{stop_->fd(), POLLIN, 0};
    bool is_reported = false;
    do {
        try {
            const auto written = file_->replace(metrics_of(facts, workers, nanoseconds_of_tick_));
            if (!written && !std::exchange(is_reported, true))
                warn(written.error().text);
        } catch (const std::exception&) { // out of memory; try again after the interval
        }
    } while (::poll(&stop, 1, static_cast<int>(interval.count())) <= 0);
}

void SessionStatistics::warn(const std::string& why) {
    log_.warning("stats-dir: {}; this session has no statistics", why);
}

} // namespace rpmem::target
