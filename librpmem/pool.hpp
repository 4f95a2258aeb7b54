// SPDX-License-Identifier: BSD-3-Clause
// One replicated pool: what the application may ask of it, and what of that is not yet durable. The
// way to the target is the Link's.
//
// A lane here is a slot; Pool::make_usable() and Pool::recover() change it:
//   empty  -> usable  it is used first
//   lost   -> usable  its association is lost, and a later one repeats what was not confirmed
//   usable -> lost    see Monitor; nobody has to touch the slot
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/hot.hpp"
#include "librpmem/association.hpp"
#include "librpmem/call_bound.hpp"
#include "librpmem/dump_exclusion.hpp"
#include "librpmem/link.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <librpmem.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

class Pool {
public:
    static Result<std::unique_ptr<Pool>> create(const PoolArguments& arguments,
                                                const rpmem_pool_attr& attributes,
                                                const Settings& settings,
                                                const PoolServices& services = {});
    // ATTRIBUTES, if not null, receives the pool's.
    static Result<std::unique_ptr<Pool>> open(const PoolArguments& arguments,
                                              rpmem_pool_attr* attributes, const Settings& settings,
                                              const PoolServices& services = {});

    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // The application has the pool. Else one that was created goes again, with this.
    void keep() noexcept { link_->keep(); }

    [[nodiscard]] unsigned lanes() const { return lane_count_; }
    // Of the first association.
    [[nodiscard]] const AssociationFacts& facts() const { return facts_; }

    // As persist() and flush(), if nothing is in the way. False: they have not begun, or the lane
    // has failed, and fails again in the same way.
    [[nodiscard]] bool persist_at_once(std::size_t offset, std::size_t length, unsigned lane,
                                       unsigned flags) {
        return at_once(CallKind::persist, offset, length, lane, flags, &FrameLane::persist);
    }
    [[nodiscard]] bool flush_at_once(std::size_t offset, std::size_t length, unsigned lane,
                                     unsigned flags) {
        return at_once(CallKind::flush, offset, length, lane, flags, &FrameLane::flush);
    }
    Result<> persist(std::size_t offset, std::size_t length, unsigned lane, unsigned flags);
    Result<> deep_persist(std::size_t offset, std::size_t length, unsigned lane);
    Result<> flush(std::size_t offset, std::size_t length, unsigned lane, unsigned flags);
    Result<> drain(unsigned lane, unsigned flags);
    Result<> read(std::byte* destination, std::size_t offset, std::size_t length, unsigned lane);
    Result<> set_attributes(const rpmem_pool_attr& attributes);
    // From any thread.
    [[nodiscard]] Result<PoolSnapshot> statistics() const;
    // Whatever it returns, the pool can only be destroyed afterwards.
    Result<> close();
    // This process is a child of the one that opened the pool: every operation is refused, and the
    // pool must not be destroyed, as the parent's lanes and session would end.
    [[nodiscard]] bool inherited() const { return inherited_; }

private:
    // One thread at a time uses it.
    struct LaneSlot {
        FrameLane* lane = nullptr;  // null: none yet
        Monitor* monitor = nullptr; // of its association
        std::shared_ptr<Association> association;
        std::vector<PoolRange> unconfirmed; // of associations that are lost

        [[nodiscard]] bool is_usable() const { return lane && !monitor->lost(); }
        [[nodiscard]] bool owes() const { return (lane && lane->owes()) || !unconfirmed.empty(); }
        // The lane is lost, and its ranges stay.
        void leave() {
            if (lane)
                lane->add_unconfirmed(unconfirmed);
            lane = nullptr;
        }
    };

    Pool(const PoolArguments& arguments, const Settings& settings)
        : arguments_(arguments), settings_(settings) {}
    Result<> take_up(std::shared_ptr<Association> association,
                     const wire::InBandAttributes& in_band, const PoolServices& services);

    // CALL has succeeded on LANE.
    void count(CallKind call, unsigned lane, std::size_t length, std::uint64_t began) {
        LaneCounters& counters = counters_.lane(lane);
        counters.count(call, length, began);
        if (call == CallKind::flush)
            counters.unconfirmed += length;
        else if (call != CallKind::read)
            counters.unconfirmed = 0;
    }
    using Write = int (FrameLane::*)(std::size_t offset, std::size_t length, bool relaxed);
    [[nodiscard, gnu::always_inline]] bool at_once(CallKind call, std::size_t offset,
                                                   std::size_t length, unsigned lane,
                                                   unsigned flags, Write write) {
        const std::uint64_t began = statistics::ticks();
        if (!is_writable(offset, length, lane, flags) || length == 0 || !slots_[lane].is_usable() ||
            (slots_[lane].lane->*write)(offset, length, flags != 0) != 0)
            return false;
        count(call, lane, length, began);
        return true;
    }
    template <typename Operate>
    Result<> counted(CallKind call, unsigned lane, std::size_t length, Operate operate);
    template <typename Operate>
    Result<> on_lane(const char* call, unsigned index, const PoolRange& own, CallBound& bound,
                     Operate operate);
    template <typename Operate>
    Result<> on_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                      unsigned flags, Operate operate);
    [[nodiscard]] bool is_writable(std::size_t offset, std::size_t length, unsigned lane,
                                   unsigned flags) const {
        return lane < lane_count_ && offset >= first_writable_ && offset < arguments_.size &&
               length <= arguments_.size - offset && (flags & ~RPMEM_PERSIST_RELAXED) == 0;
    }
    [[nodiscard]] Failure bad_range(const char* call, std::size_t offset, std::size_t length,
                                    unsigned lane, unsigned flags) const;
    [[nodiscard]] Failure bad_lane(const char* call, unsigned lane) const;
    [[nodiscard]] std::size_t size_of_pool() const { return arguments_.size; }
    [[nodiscard]] Result<std::shared_ptr<Association>> association(const char* call,
                                                                   CallBound& bound);
    [[nodiscard]] Result<std::shared_ptr<Association>> look(const char* call, CallBound& bound);
    template <typename Ask>
    Result<> on_session(const char* call, CallBound& bound, Ask ask);

    // What follows a loss: pool_recovery.cpp. BOUND is the call's.
    [[nodiscard]] Result<> make_usable(const char* call, unsigned index, CallBound& bound);
    [[nodiscard]] Result<FrameLane*> use_lane(Association& association, unsigned index,
                                              CallBound& bound);
    [[nodiscard]] int replay(FrameLane& lane, std::vector<PoolRange>& ranges, CallBound& bound);
    // The operation of CALL on its lane returned CODE. It writes OWN, and will do so again.
    [[nodiscard]] Result<> recover(const char* call, unsigned index, int code, const PoolRange& own,
                                   CallBound& bound);
    // LANE of ASSOCIATION returned CODE: the association is lost now. Returns an error if no other
    // one helps the call.
    [[nodiscard]] Result<> lose(Association& association, const FrameLane& lane, int code,
                                const CallBound& bound);
    [[nodiscard]] Error unreadable(std::vector<PoolRange>& ranges) const;
    [[nodiscard]] static Error classify(Association& association, Error error);

    PoolArguments arguments_;
    Settings settings_;
    AssociationFacts facts_;
    std::string host_;
    std::size_t first_writable_ = 0; // behind the header that the target keeps; or nothing is
    unsigned lane_count_ = 0;
    PoolCounters counters_; // the link writes into them
    std::unique_ptr<Link> link_;
    std::unique_ptr<LaneSlot[]> slots_;
    std::atomic<bool> inherited_ = false;
    std::optional<ForkListener> in_children_;   // of a pool that is open
    std::optional<DumpExclusion> out_of_dumps_; // as well
};

} // namespace rpmem::initiator
