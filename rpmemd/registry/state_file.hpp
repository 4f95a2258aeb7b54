// SPDX-License-Identifier: BSD-3-Clause
// An open file of state-dir. Its record is written in place, so a confined daemon can continue to
// write. Its modification time is the last-seen time.
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
    // Creates the file and allocates its slots, so that a full disk is reported now. Fails with
    // EEXIST.
    [[nodiscard]] static Result<StateFile> make(const StateDirectory& directory,
                                                const std::string& name);
    // Opens the file, read-only if it cannot be written. Fails with ENOENT, and with EACCES unless
    // it belongs to this user only.
    [[nodiscard]] static Result<StateFile> open(const StateDirectory& directory,
                                                const std::string& name);

    // Locks the file until this object or the process ends. Returns false if another open file has
    // locked it, or flock(2) fails.
    [[nodiscard]] bool lock() const;
    // Takes a shared lock until this object ends. Returns false if another open file has the
    // exclusive lock, or flock(2) fails.
    [[nodiscard]] bool is_unlocked() const;
    [[nodiscard]] int fd() const { return fd_.get(); }
    // Returns whether NAME still refers to this file.
    [[nodiscard]] bool is_at(const StateDirectory& directory, const std::string& name) const;

    // Writes RECORD, which is durable on return. After open(), call read() first. On failure a
    // reader finds the previous record, unless the medium keeps it from being restored.
    template <typename Record>
    [[nodiscard]] Result<> write(const Record& record);
    // Returns nothing if no record was written yet. Fails with EBADMSG or ENOTSUP.
    template <typename Record>
    [[nodiscard]] Result<std::optional<Record>> read();

    // Sets last_seen() to now. A loss of power may set it back by some seconds.
    void touch() const;
    [[nodiscard]] std::int64_t last_seen() const; // seconds since the epoch

private:
    StateFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    Result<std::string> contents() const;
    void clear(std::size_t slot) const;

    UniqueFd fd_;
    std::string path_;
    std::uint64_t sequence_ = 0; // sequence of the newest record
    std::size_t slot_ = 1;       // slot of the newest record
};

} // namespace rpmem::target
