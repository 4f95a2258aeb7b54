// SPDX-License-Identifier: BSD-3-Clause
// The files of the program's machine that outlive the program: the file behind the pool's memory,
// and the record of the last session. local_functions.cpp forwards calls to them.
#pragma once

#include "librpmem/replica/initiator_record.hpp"
#include "tests/simulation/world.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::simulation::sessions {

class LocalMachine {
public:
    // CANNOT_STORE: records cannot be written.
    LocalMachine(World& world, bool cannot_store) : world_(world), cannot_store_(cannot_store) {
        running = this;
    }
    ~LocalMachine() { running = nullptr; }
    LocalMachine(const LocalMachine&) = delete;
    LocalMachine& operator=(const LocalMachine&) = delete;

    // Returns null unless the caller belongs to a simulated process.
    [[nodiscard]] static LocalMachine* current() {
        return running && running->world_.process() ? running : nullptr;
    }
    // A program that uses the memory modifies its file all the time.
    [[nodiscard]] initiator::LocalFile file() const {
        return {.identity = {.file_system = 7, .inode = inode_, .inode_generation = 1},
                .modified = static_cast<std::int64_t>(restored_.value_or(world_.now())),
                .path = "/program/pool"};
    }
    // Replaces the file by a backup of time MADE, in place with its time, or as another file. In
    // place it must be older than the record: see "What is not noticed" in docs/reliability.md.
    void restore(Time made) {
        const bool is_in_place = made < stored_ && world_.random().chance(50);
        if (!is_in_place)
            ++inode_;
        restored_ = made;
    }
    [[nodiscard]] bool has_record() const { return !records_.empty(); }
    [[nodiscard]] std::optional<initiator::InitiatorRecord> read(const std::string& path) const {
        const auto found = records_.find(path);
        return found == records_.end() ? std::nullopt : std::optional(found->second);
    }
    // Returns false if the record cannot be stored, or the process has died meanwhile.
    bool write(const std::string& path, const initiator::InitiatorRecord& record) {
        world_.sleep(world_.random().below(max_time));
        if (cannot_store_ || world_.is_in_vacuum())
            return false;
        records_[path] = record;
        stored_ = std::min(stored_, world_.now());
        return true;
    }
    void erase(const std::string& path) {
        if (!world_.is_in_vacuum())
            records_.erase(path);
    }

private:
    static constexpr Time max_time = 2 * millisecond;

    static inline LocalMachine* running = nullptr;

    World& world_;
    bool cannot_store_;
    std::uint64_t inode_ = 1;
    std::optional<Time> restored_;
    Time stored_ = never; // when the first record was stored
    std::map<std::string, initiator::InitiatorRecord> records_;
};

} // namespace rpmem::simulation::sessions
