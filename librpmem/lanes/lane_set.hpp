// The lanes of a pool. Each is connected when it is used first, unless it was before.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/lanes/lane.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace rpmem::fabric {
class EventQueue;
}

namespace rpmem::initiator {

class LaneSet {
public:
    explicit LaneSet(unsigned lanes) : count_(lanes), slots_(std::make_unique<Slot[]>(lanes)) {}
    virtual ~LaneSet() = default;
    LaneSet(const LaneSet&) = delete;
    LaneSet& operator=(const LaneSet&) = delete;

    [[nodiscard]] unsigned lanes() const { return count_; }
    // Null: not connected yet.
    [[nodiscard]] Lane* lane(unsigned index) const {
        return slots_[index].ready.load(std::memory_order_acquire);
    }
    // The lane, connected now if it was not. From any thread.
    Result<Lane*> use_lane(unsigned index);
    // In a child made by fork(2).
    void release_in_child();

    // Tells of the end of lanes while nobody uses them. Null: a lane notices by itself, when it is
    // used.
    [[nodiscard]] virtual const fabric::EventQueue* events() const { return nullptr; }

protected:
    // One thread at a time for each lane.
    virtual Result<std::unique_ptr<Lane>> connect(unsigned index) = 0;
    void put(unsigned index, std::unique_ptr<Lane> lane);
    // For those who own what lanes need.
    void end_all() { slots_.reset(); }

private:
    struct Slot {
        std::mutex connecting; // never taken by an operation on a connected lane
        std::unique_ptr<Lane> lane;
        std::atomic<Lane*> ready = nullptr;
    };

    unsigned count_;
    std::unique_ptr<Slot[]> slots_;
};

} // namespace rpmem::initiator
