// SPDX-License-Identifier: BSD-3-Clause
// DIRECTORY/PROGRAM-PID.prom: the metrics of this process, for the textfile collector.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>
#include <string_view>

namespace rpmem::statistics {

class ExpositionFile {
public:
    // Nothing is written yet. The directory must be there.
    [[nodiscard]] static Result<ExpositionFile> open(const std::string& directory,
                                                     std::string_view program);

    // Whoever reads the file sees the old text or TEXT, whole. The calls that it takes are those
    // that rpmemd/confinement/seccomp.cpp allows.
    [[nodiscard]] Result<> replace(std::string_view text) const;
    void remove() const noexcept;
    // The files of PROGRAM's processes that live no more. What cannot be listed or removed stays.
    void remove_of_the_dead() const;

    // O_PATH.
    [[nodiscard]] int directory() const { return directory_.get(); }

private:
    ExpositionFile(UniqueFd directory, std::string path, std::string_view program);
    [[nodiscard]] Failure cannot(std::string_view step, const std::string& name) const;

    UniqueFd directory_;
    std::string path_; // of the directory
    std::string program_;
    std::string name_;
    std::string temporary_;
};

} // namespace rpmem::statistics
