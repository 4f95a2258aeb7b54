// SPDX-License-Identifier: BSD-3-Clause
// The file of this session for Prometheus. A thread of its own writes it, so that no disk delays a
// lane or a heartbeat. If the file cannot be written, the session continues and logs a warning.
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
    // An empty DIRECTORY disables statistics. Removes the files of daemons that were killed.
    SessionStatistics(const std::filesystem::path& directory, Log log);
    // Removes the file. Must run after the pool is closed, because a slow disk may delay it.
    ~SessionStatistics();
    SessionStatistics(const SessionStatistics&) = delete;
    SessionStatistics& operator=(const SessionStatistics&) = delete;

    // Sets the umask for the statistics file. Call it when the session will create no other files.
    // Returns a descriptor of the directory for the confinement, or -1 without statistics.
    [[nodiscard]] int prepare_confinement() const;
    // Call it once, after the session is confined. Landlock does not apply to threads that were
    // started before.
    void start(SessionFacts facts, std::vector<std::shared_ptr<const WorkerCounters>> workers);

private:
    void run(const SessionFacts& facts,
             const std::vector<std::shared_ptr<const WorkerCounters>>& workers);
    void warn(const std::string& why);

    Log log_;
    std::optional<statistics::ExpositionFile> file_;
    std::optional<Event> stop_;
    statistics::Moment opened_ = statistics::moment();
    // Measured once, so that a counted call never changes its bucket.
    double nanoseconds_of_tick_ = 1;
    std::thread thread_;
};

} // namespace rpmem::target
