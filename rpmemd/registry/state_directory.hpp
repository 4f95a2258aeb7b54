// SPDX-License-Identifier: BSD-3-Clause
// The directory state-dir, in which the daemons of one user keep the files of sessions and pools.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

class StateDirectory {
public:
    // Opens the absolute PATH. Creates up to 3 missing directories for this user only. Fails with
    // EINVAL if PATH is relative, with ENOENT if more are missing, and with EACCES if others own it
    // or may write to it, or to a directory above it that is not sticky.
    [[nodiscard]] static Result<StateDirectory> open(const std::filesystem::path& path);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string path_of(const std::string& name) const { return path_ / name; }
    // Returns the names of files that begin with PREFIX: at most max_listed, unsorted, and none if
    // the directory cannot be read.
    [[nodiscard]] std::vector<std::string> names(std::string_view prefix) const;
    // Makes created and removed names durable.
    [[nodiscard]] Result<> sync() const;

    static constexpr std::size_t max_listed = 65536;

private:
    StateDirectory(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}

    UniqueFd fd_;
    std::filesystem::path path_;
};

} // namespace rpmem::target
