// SPDX-License-Identifier: BSD-3-Clause
// The directory in which daemons of one user tell each other of their sessions and pools.
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
    // Makes PATH, which is absolute, and what is missing on the way to it, for this user alone.
    // EACCES if it belongs to another user, or others may write to it or to a directory on the way.
    [[nodiscard]] static Result<StateDirectory> open(const std::filesystem::path& path);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string path_of(const std::string& name) const { return path_ / name; }
    // Of files whose names begin with PREFIX: max_listed at most, in no order.
    [[nodiscard]] std::vector<std::string> names(std::string_view prefix) const;
    // Makes changes of names durable.
    [[nodiscard]] Result<> sync() const;

    static constexpr std::size_t max_listed = 65536;

private:
    StateDirectory(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}

    UniqueFd fd_;
    std::filesystem::path path_;
};

} // namespace rpmem::target
