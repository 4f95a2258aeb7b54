// SPDX-License-Identifier: BSD-3-Clause
// The slots of a pool's lanes: which lane of which connection each number stands for. The slots
// outlive the connections, which own the lanes. LaneSet::put(), leave() and join() change a slot:
//
//   empty  -> joined  the slot keeps a connection; its lane is not ready, or was left
//   joined -> usable  the lane is connected, and has replayed what was not acknowledged
//   usable -> lost    the connection is lost, see Monitor; the slot itself does not change
//   lost   -> joined  leave(); join() replaces the connection
#pragma once

#include "librpmem/connection/connection.hpp"

#include <memory>
#include <utility>

namespace rpmem::initiator {

// One thread at a time uses a slot.
class LaneSet {
public:
    LaneSet() = default;
    explicit LaneSet(unsigned count) : count_(count), slots_(std::make_unique<Slot[]>(count)) {}

    [[nodiscard]] unsigned count() const { return count_; }
    // Returns null if the lane is not usable. Makes no system call.
    [[nodiscard, gnu::always_inline]] FrameLane* usable(unsigned index) const {
        const Slot& slot = slots_[index];
        return slot.lane && !slot.monitor->lost() ? slot.lane : nullptr;
    }
    // Returns the usable or lost lane of the slot, or null.
    [[nodiscard]] FrameLane* lane(unsigned index) const { return slots_[index].lane; }
    // Call it after join().
    [[nodiscard]] Connection& connection(unsigned index) const { return *slots_[index].connection; }

    // Whether the connection that the slot has joined is lost.
    [[nodiscard]] bool has_lost(unsigned index) const {
        const Slot& slot = slots_[index];
        return slot.connection && slot.monitor->lost();
    }

    // Removes the lane from the slot. The slot keeps the lost connection until join(), because the
    // link replaces a connection under its lock, and destroying one takes time.
    void leave(unsigned index) { slots_[index].lane = nullptr; }
    // The slot must have no lane.
    void join(unsigned index, std::shared_ptr<Connection> connection) {
        slots_[index].monitor = &connection->monitor();
        slots_[index].connection = std::move(connection);
    }
    [[nodiscard]] bool has_joined(unsigned index, const Connection& connection) const {
        return slots_[index].connection.get() == &connection;
    }
    // LANE belongs to the connection that the slot has joined.
    void put(unsigned index, FrameLane& lane) { slots_[index].lane = &lane; }
    // Releases all connections. No lane may be used afterwards.
    void clear() { slots_.reset(); }
    // Call it in a child made by fork(2), before clear().
    void release_in_child() {
        for (unsigned index = 0; index < count_; ++index)
            if (Connection* const own = slots_[index].connection.get())
                own->release_in_child();
    }

private:
    struct Slot {
        FrameLane* lane = nullptr;
        Monitor* monitor = nullptr; // of the connection
        std::shared_ptr<Connection> connection;
    };

    unsigned count_ = 0;
    std::unique_ptr<Slot[]> slots_;
};

} // namespace rpmem::initiator
