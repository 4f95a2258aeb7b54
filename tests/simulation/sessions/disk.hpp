// SPDX-License-Identifier: BSD-3-Clause
// The simulated disk of the target's files: syncs take time and may fail.
#pragma once

#include "tests/simulation/file_system.hpp"
#include "tests/simulation/world.hpp"

#include <array>
#include <functional>
#include <map>

namespace rpmem::simulation {

class Disk {
public:
    explicit Disk(World& world) : world_(world), slowest_(world.random().one_of(speeds)) {}

    // fail_next() makes the next sync of the pool fail. slow_next() makes it take TIME.
    void fail_next() { fails_next_ = true; }
    void slow_next(Time time) { next_takes_ = time; }
    // While it is full, files do not grow and attributes cannot be set.
    void fill(bool is_full) { is_full_ = is_full; }
    [[nodiscard]] bool is_full() const { return is_full_; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    // When the last slow sync ended or will end.
    [[nodiscard]] Time slow_until() const { return slow_until_; }
    // PROCESS cannot end before this time, because the kernel is busy with its sync.
    [[nodiscard]] Time busy_until(const Process& process) const {
        const auto found = busy_until_.find(&process);
        return found == busy_until_.end() ? 0 : found->second;
    }

    // Makes the current bytes durable. Returns 0 or an errno value.
    int sync(const std::shared_ptr<Node>& node, std::size_t offset, std::size_t length) {
        if (world_.is_in_vacuum())
            return EIO;
        const auto now = node->bytes();
        offset = std::min(offset, node->durable.size());
        length = std::min(length, node->durable.size() - offset);
        const auto begin = now.begin() + static_cast<std::ptrdiff_t>(offset);
        std::vector<std::byte> copy(begin, begin + static_cast<std::ptrdiff_t>(length));
        const Running running(*this);
        const std::uint64_t number = ++last_;
        take_time();
        const bool is_pool = !node->memory.empty();
        if (world_.is_in_vacuum())
            return EIO;
        if (is_pool && std::exchange(fails_next_, false)) {
            has_failed_ = true;
            world_.note("a sync has failed");
            return EIO;
        }
        keep_later(*node, offset, copy, number);
        node->sync(offset, copy);
        done_.push_back({node.get(), offset, length, number});
        return 0;
    }

private:
    static constexpr std::array<Time, 4> speeds{0, 10 * microsecond, 100 * microsecond,
                                                2 * millisecond};
    // A sync that has ended while others were running.
    struct Done {
        const Node* node;
        std::size_t offset;
        std::size_t length;
        std::uint64_t number;
    };
    struct Running {
        Disk& disk;
        explicit Running(Disk& own) : disk(own) { ++disk.running_; }
        ~Running() {
            if (--disk.running_ == 0)
                disk.done_.clear();
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
    };
    // Bytes that a later sync has made durable meanwhile stay as they are.
    void keep_later(const Node& node, std::size_t offset, std::span<std::byte> copy,
                    std::uint64_t number) const {
        for (const Done& done : done_) {
            const std::size_t begin = std::max(done.offset, offset);
            const std::size_t end = std::min(done.offset + done.length, offset + copy.size());
            if (done.node == &node && done.number > number && begin < end)
                std::copy_n(node.durable.begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                            copy.begin() + static_cast<std::ptrdiff_t>(begin - offset));
        }
    }
    void take_time() {
        Time time = slowest_ > 0 ? world_.random().below(slowest_) : 0;
        if (next_takes_ > 0)
            slow_until_ = world_.now() + next_takes_;
        time += std::exchange(next_takes_, 0);
        if (time == 0)
            return;
        busy_until_[world_.process()] = world_.now() + time;
        world_.sleep(time);
    }

    World& world_;
    Time slowest_;
    Time next_takes_ = 0;
    Time slow_until_ = 0;
    std::uint64_t last_ = 0; // number of the last sync that has begun
    unsigned running_ = 0;
    std::vector<Done> done_;
    bool fails_next_ = false;
    bool is_full_ = false;
    bool has_failed_ = false;
    std::map<const Process*, Time> busy_until_;
};

} // namespace rpmem::simulation
