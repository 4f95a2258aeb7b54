// SPDX-License-Identifier: BSD-3-Clause
// A file with metrics for the textfile collector: DIRECTORY/STEM.prom.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace rpmem::statistics {

// The interval between writes. Prometheus usually scrapes every 15 seconds.
inline constexpr std::chrono::seconds write_interval(10);

// A file from another PID namespace is stale after this time, which is 60 intervals. kill(2) cannot
// check for a process of another namespace.
inline constexpr std::chrono::seconds max_age(600);

// Returns PROGRAM-BOOT-NAMESPACE-PID. A process ID alone is not unique, because containers and the
// host use the same ones.
[[nodiscard]] std::string stem_of_process(std::string_view program, pid_t process);

class ExpositionFile {
public:
    // Writes nothing yet. DIRECTORY must exist.
    [[nodiscard]] static Result<ExpositionFile> open(const std::string& directory,
                                                     const std::string& stem);

    // Replaces the file atomically: a reader sees the old text or TEXT. A confined daemon calls
    // this, so it may only use the system calls that rpmemd/confinement/seccomp.cpp allows.
    [[nodiscard]] Result<> replace(std::string_view text) const;
    void remove() const noexcept;
    // Removes the files of processes of PROGRAM that have ended. Files from this PID namespace are
    // removed at once, others after max_age without a write. Errors are ignored.
    void remove_of_the_dead(std::string_view program) const;

    // Returns a descriptor of the directory, opened with O_PATH.
    [[nodiscard]] int directory() const { return directory_.get(); }

private:
    ExpositionFile(UniqueFd directory, std::string path, const std::string& stem);
    [[nodiscard]] Failure cannot(std::string_view step, const std::string& name) const;

    UniqueFd directory_;
    std::string path_; // path of the directory
    std::string name_;
    std::string temporary_;
};

} // namespace rpmem::statistics
