// SPDX-License-Identifier: BSD-3-Clause
// One replicated pool: its operations, and the ranges that are not yet acknowledged. Link keeps the
// connection to the target, and LaneSet the lanes.
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/hot.hpp"
#include "librpmem/connection/call_bound.hpp"
#include "librpmem/connection/lane_set.hpp"
#include "librpmem/connection/link.hpp"
#include "librpmem/replica/catch_up.hpp"
#include "librpmem/replica/equalizer.hpp"
#include "librpmem/replica/kept_attributes.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <librpmem.h>

#include <atomic>
#include <climits>
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
    // Stores the attributes of the pool in ATTRIBUTES, unless it is null.
    static Result<std::unique_ptr<Pool>> open(const PoolArguments& arguments,
                                              rpmem_pool_attr* attributes, const Settings& settings,
                                              const PoolServices& services = {});

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // Call it when the application has the pool. Without it, the destructor removes a created pool.
    void commit() noexcept { link_->commit(); }

    [[nodiscard]] unsigned lanes() const { return lanes_.count(); }
    // Returns the facts about the first connection.
    [[nodiscard]] const ConnectionFacts& facts() const { return facts_; }

    // Fast path of persist() and flush(). Returns false if the slow path must run: nothing was
    // started, or the lane has failed and the slow path will report why.
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
    // Thread-safe.
    [[nodiscard]] Result<PoolSnapshot> statistics() const;
    // Thread-safe. await_in_sync() waits for at most TIME, and then fails with ETIMEDOUT.
    [[nodiscard]] Result<ReplicaReport> replica_report();
    [[nodiscard]] Result<> await_in_sync(std::chrono::milliseconds time);
    // Even on failure, the pool may only be destroyed afterwards.
    Result<> close();
    // Whether this process is a child of the process that opened the pool. Every operation fails in
    // a child. The child must not destroy the pool, because that would end the lanes and the
    // session of the parent.
    [[nodiscard]] bool inherited() const { return inherited_; }

private:
    static constexpr std::size_t nothing_writable = SIZE_MAX; // first_writable_ if it is read-only

    // With RPMEM_ON_LOSS=alone, the pool has one lane more than the application.
    Pool(const PoolArguments& arguments, const Settings& settings)
        : arguments_(arguments), settings_(settings) {
        if (settings_.on_loss == OnLoss::alone && arguments_.lanes < UINT_MAX)
            ++arguments_.lanes;
    }
    Result<> adopt(std::shared_ptr<Connection> connection, const wire::InBandAttributes& in_band,
                   const rpmem_pool_attr& attributes, const PoolServices& services);
    void prepare_equalizer(Connection& connection, const rpmem_pool_attr& attributes,
                           const PoolServices& services);

    // Counts CALL, which began at the tick BEGAN and has succeeded on LANE.
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
        if (!is_writable(offset, length, lane, flags) || length == 0)
            return false;
        FrameLane* const own = lanes_.usable(lane);
        if (!own || (own->*write)(offset, length, flags != 0) != 0)
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
    Result<> on_replica(const char* call, unsigned index, const PoolRange& own, CallBound& bound,
                        Operate operate);
    template <typename Operate>
    Result<> on_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                      unsigned flags, Operate operate);
    [[nodiscard]] bool is_writable(std::size_t offset, std::size_t length, unsigned lane,
                                   unsigned flags) const {
        return lane < lanes_.count() && offset >= first_writable_ && offset < arguments_.size &&
               length <= arguments_.size - offset && (flags & ~RPMEM_PERSIST_RELAXED) == 0;
    }
    [[nodiscard]] Failure bad_range(const char* call, std::size_t offset, std::size_t length,
                                    unsigned lane, unsigned flags) const;
    [[nodiscard]] Failure bad_lane(const char* call, unsigned lane) const;
    [[nodiscard]] std::size_t size_of_pool() const { return arguments_.size; }
    [[nodiscard]] Result<> refuse_in_child(const char* call) const;
    [[nodiscard]] Result<std::shared_ptr<Connection>> connection(const char* call,
                                                                 CallBound& bound);
    [[nodiscard]] Result<std::shared_ptr<Connection>> look(const char* call, CallBound& bound);
    [[nodiscard]] Result<> check_link(const char* call, CallBound& bound);
    [[nodiscard]] KeptAttributes::Send sending_attributes();
    template <typename Ask>
    Result<> on_session(const char* call, CallBound& bound, Ask ask);

    // For RPMEM_ON_LOSS=alone, see Replica. is_alone(): calls go on without the target now.
    [[nodiscard]] bool is_alone() const { return replica_ && replica_->lacks_calls(); }
    [[nodiscard]] Result<unsigned> lanes_for_program(Connection& connection);
    [[nodiscard]] Result<> start_catch_up(const Log& log, ControlServer* control);
    [[nodiscard]] Result<> go_on_alone(const char* call, CallBound& bound);
    [[nodiscard]] Result<> record_in_sync(const char* call, CallBound& bound);
    [[nodiscard]] Result<bool> leave_comparison(const char* call, unsigned lane, CallBound& bound);
    [[nodiscard]] bool closes_alone(std::chrono::milliseconds time);

    // Compares the replica with the memory before the first write of a session, see Equalizer.
    [[nodiscard]] Result<> equalize(const char* call, unsigned lane, CallBound& bound);
    [[nodiscard]] Result<> compare_and_send(const char* call, unsigned lane, CallBound& bound);
    [[nodiscard]] Result<> set_replica_state(const char* call, wire::ReplicaState state,
                                             CallBound& bound);

    [[nodiscard]] bool has_unacknowledged(unsigned index) const {
        const FrameLane* const lane = lanes_.lane(index);
        return (lane && lane->has_unacknowledged()) || !unconfirmed_[index].empty();
    }

    // Recovery from a loss, see pool_recovery.cpp. BOUND is the bound of the call.
    [[nodiscard]] Result<> make_usable(const char* call, unsigned index, CallBound& bound);
    void leave(unsigned index);
    [[nodiscard]] int replay(FrameLane& lane, std::vector<PoolRange>& ranges, CallBound& bound);
    struct FailedOperation {
        PoolRange own;        // the range that it writes, or empty
        std::uint64_t before; // FrameLane::progress() when it began
    };
    // Call it when OPERATION of CALL on lane INDEX has returned CODE. On success the lane is usable
    // again, and the caller repeats the operation.
    [[nodiscard]] Result<> recover(const char* call, unsigned index, int code,
                                   const FailedOperation& operation, CallBound& bound);
    [[nodiscard]] Error unreadable(std::vector<PoolRange>& ranges) const;

    PoolArguments arguments_;
    Settings settings_;
    ConnectionFacts facts_;
    std::string host_;
    // The first offset after the header that the target keeps. SIZE_MAX in a read-only session.
    std::size_t first_writable_ = 0;
    bool is_created_ = false; // by this session
    PoolCounters counters_;   // must outlive the link, which writes to them
    std::unique_ptr<Link> link_;
    LaneSet lanes_;
    std::unique_ptr<Equalizer> equalizer_;          // null before adopt()
    std::optional<KeptAttributes> kept_attributes_; // likewise
    std::unique_ptr<Replica> replica_;              // null without RPMEM_ON_LOSS=alone
    std::unique_ptr<CatchUp> catch_up_;             // likewise; its thread uses the members above
    // For each lane, the ranges that lost connections did not acknowledge.
    std::vector<std::vector<PoolRange>> unconfirmed_;
    std::atomic<bool> inherited_ = false;
    // From adopt() to close(). Its handler uses the lanes, so it is destroyed first.
    std::optional<ForkListener> in_children_;
};

} // namespace rpmem::initiator
