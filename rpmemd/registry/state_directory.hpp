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
    // Opens the absolute PATH. Creates it and missing directories above it for this user only.
    // Fails with EACCES if it belongs to another user, or if others may write to it or to a
    // directory above it.
    [[nodiscard]] static Result<StateDirectory> open(const std::filesystem::path& path);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string path_of(const std::string& name) const { return path_ / name; }
    // Returns the names of files that begin with PREFIX: at most max_listed, unsorted.
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
