// SPDX-License-Identifier: BSD-3-Clause
// The simulated machine of a process. file_functions.cpp and process_functions.cpp forward calls to
// it.
#pragma once

#include "tests/simulation/sessions/disk.hpp"
#include "tests/simulation/simulated_system.hpp"

#include <functional>
#include <string>

namespace rpmem::simulation {

// A mapping of the bytes of a part.
struct MappedPart {
    const std::byte* begin;
    std::size_t length;
    std::shared_ptr<Node> node;
};

class Machine {
public:
    explicit Machine(SimulatedSystem& system)
        : system_(system), world_(system.world()), disk_(world_) {
        running = this;
    }
    ~Machine() { running = nullptr; }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Returns null if the caller belongs to no process. Then calls go to the kernel.
    [[nodiscard]] static Machine* current() {
        return running && running->world_.process() ? running : nullptr;
    }
    [[nodiscard]] SimulatedSystem& system() { return system_; }
    [[nodiscard]] World& world() { return world_; }
    [[nodiscard]] Disk& disk() { return disk_; }

    // Creates a process. Process ids are not reused.
    Process& make_process(std::string name) {
        processes_.push_back(std::make_unique<Process>(Process{
            .name = std::move(name), .pid = first_pid + static_cast<int>(processes_.size())}));
        return *processes_.back();
    }
    // Returns null if there is no such process or it is dead.
    [[nodiscard]] Process* find_process(int pid) const {
        const auto index = static_cast<std::size_t>(pid - first_pid);
        return pid >= first_pid && index < processes_.size() && !processes_[index]->is_dead
                   ? processes_[index].get()
                   : nullptr;
    }
    // Does the same as SIGKILL. The process stops at once. It is dead when the kernel has finished
    // its running system call.
    void kill(Process& process) {
        if (process.is_dead || std::exchange(process.is_killed, true))
            return;
        process.is_stopped = true;
        const Time latest = world_.now() + world_.random().below(max_end);
        world_.at(std::max(latest, disk_.busy_until(process)), [this, &process] { end(process); });
    }
    void end(Process& process) {
        if (process.is_dead)
            return;
        world_.note("process {} has ended", static_cast<std::uint64_t>(process.pid));
        system_.end(process);
    }

    // The time of day in seconds since the epoch, which set_clock() changes.
    [[nodiscard]] std::int64_t seconds() const {
        return 1700000000 + wall_offset_ + static_cast<std::int64_t>(world_.now() / second);
    }
    void set_clock(std::int64_t offset) { wall_offset_ = offset; }
    // The number of the boot.
    unsigned boot = 1;

    // Called for each store to the medium of a pool.
    std::function<void(const Node&)> writes;
    // Called before each sync of a pool's data. It may kill the process.
    std::function<void()> syncs;
    std::vector<MappedPart> mapped;

private:
    static constexpr int first_pid = 100;
    static constexpr Time max_end = 20 * millisecond;

    static inline Machine* running = nullptr;

    SimulatedSystem& system_;
    World& world_;
    Disk disk_;
    std::int64_t wall_offset_ = 0;
    std::vector<std::unique_ptr<Process>> processes_;
};

} // namespace rpmem::simulation
