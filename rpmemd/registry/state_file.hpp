// SPDX-License-Identifier: BSD-3-Clause
// One file of state-dir, open: its record is written in place, so that a confined daemon can go on
// writing. When it was last seen to be of use is its time of modification.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rpmem::target {

class StateFile {
public:
    // With room for its slots, as a full disk must be told now. EEXIST.
    [[nodiscard]] static Result<StateFile> make(const StateDirectory& directory,
                                                const std::string& name);
    // To be written where that can be. ENOENT; EACCES unless it is a file of this user alone.
    [[nodiscard]] static Result<StateFile> open(const StateDirectory& directory,
                                                const std::string& name);

    // True: it is ours until this object or the process ends. False: it is somebody else's.
    [[nodiscard]] bool lock() const;
    // Nobody holds the lock, and nobody gets it before this object ends.
    [[nodiscard]] bool is_unlocked() const;
    [[nodiscard]] int fd() const { return fd_.get(); }
    // The name still leads to this file.
    [[nodiscard]] bool is_at(const StateDirectory& directory, const std::string& name) const;

    // Durable on return; else a reader may find what was there before.
    template <typename Record>
    [[nodiscard]] Result<> write(const Record& record);
    // Nothing: nobody has written to it. EBADMSG.
    template <typename Record>
    [[nodiscard]] Result<std::optional<Record>> read();

    // From now on last_seen() is now; a loss of power may set it back by some seconds.
    void touch() const;
    [[nodiscard]] std::int64_t last_seen() const; // seconds since the epoch

private:
    StateFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    Result<std::string> contents() const;

    UniqueFd fd_;
    std::string path_;
    std::uint64_t sequence_ = 0; // of the newest record
    std::size_t slot_ = 1;       // its place
};

} // namespace rpmem::target
