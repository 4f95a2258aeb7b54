// SPDX-License-Identifier: BSD-3-Clause
// DIRECTORY/STEM.prom: metrics for the textfile collector.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace rpmem::statistics {

// The interval at which files are written. Prometheus asks every 15 seconds, as a rule.
inline constexpr std::chrono::seconds write_interval(10);

// A file of another PID namespace is dead if it is older: its writer missed 60 intervals. No signal
// can ask for a process of that namespace.
inline constexpr std::chrono::seconds max_age(600);

// PROGRAM-BOOT-NAMESPACE-PID. A container has processes with the same numbers as the host, so the
// number alone does not identify one.
[[nodiscard]] std::string stem_of_process(std::string_view program, pid_t process);

class ExpositionFile {
public:
    // Nothing is written yet. The directory must be there.
    [[nodiscard]] static Result<ExpositionFile> open(const std::string& directory,
                                                     const std::string& stem);

    // Whoever reads the file sees the old text or TEXT, whole. The calls that it takes are those
    // that rpmemd/confinement/seccomp.cpp allows.
    [[nodiscard]] Result<> replace(std::string_view text) const;
    void remove() const noexcept;
    // Removes the files of PROGRAM's processes that have ended: at once if they were of this PID
    // namespace, otherwise when nobody has written them for max_age. Files that cannot be listed or
    // removed stay.
    void remove_of_the_dead(std::string_view program) const;

    // O_PATH.
    [[nodiscard]] int directory() const { return directory_.get(); }

private:
    ExpositionFile(UniqueFd directory, std::string path, const std::string& stem);
    [[nodiscard]] Failure cannot(std::string_view step, const std::string& name) const;

    UniqueFd directory_;
    std::string path_; // of the directory
    std::string name_;
    std::string temporary_;
};

} // namespace rpmem::statistics
