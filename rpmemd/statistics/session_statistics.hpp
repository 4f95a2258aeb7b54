// SPDX-License-Identifier: BSD-3-Clause
// The file of this session for Prometheus, and the thread that writes it: no disk delays a lane or
// a heartbeat. A session without it is served all the same; the log says why there is none.
#pragma once

#include "common/base/io.hpp"
#include "common/base/log.hpp"
#include "common/statistics/exposition_file.hpp"
#include "rpmemd/statistics/session_metrics.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::target {

class SessionStatistics {
public:
    // DIRECTORY empty: none are wanted. Removes what daemons that were killed have left there.
    SessionStatistics(const std::filesystem::path& directory, Log log);
    // Behind the session, whose pool is free by then. Removes the file.
    ~SessionStatistics();
    SessionStatistics(const SessionStatistics&) = delete;
    SessionStatistics& operator=(const SessionStatistics&) = delete;

    // Behind the last file that the session makes, but this one. Returns the directory that it must
    // still reach; -1: none.
    [[nodiscard]] int prepare_confinement() const;
    // Once, when the session is confined, which no thread may escape.
    void start(SessionFacts facts, std::vector<std::shared_ptr<const WorkerCounters>> workers);

private:
    void run(const SessionFacts& facts,
             const std::vector<std::shared_ptr<const WorkerCounters>>& workers);
    void warn(const std::string& why);

    Log log_;
    std::optional<statistics::ExpositionFile> file_;
    std::optional<Event> stop_;
    // One number, measured before there is anything to count: a call stays in its bucket.
    statistics::Moment opened_ = statistics::moment();
    double nanoseconds_of_tick_ = 1;
    std::thread thread_;
};

} // namespace rpmem::target
