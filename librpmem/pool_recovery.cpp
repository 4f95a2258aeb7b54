// SPDX-License-Identifier: BSD-3-Clause
// Recovery of a call whose lane is lost: it gets the next connection, and replays the
// unacknowledged ranges of the lane there. Each iteration of these loops asks the link for the
// connection, so the bound of the call ends them.
#include "librpmem/pool.hpp"
#include "librpmem/readable_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

// Bytes of the pool in at least one of RANGES. Their sum also shrinks when a range is dropped
// because another one contains it.
std::size_t covered_by(std::vector<PoolRange> ranges) {
    std::ranges::sort(ranges, {}, &PoolRange::offset);
    std::size_t covered = 0;
    std::size_t end = 0;
    for (const PoolRange& range : ranges) {
        const std::size_t begin = std::max(range.offset, end);
        end = std::max(end, range.offset + range.length);
        covered += end - std::min(begin, end);
    }
    return covered;
}

bool is_within(const PoolRange& inner, const PoolRange& outer) {
    return inner.offset >= outer.offset &&
           inner.offset + inner.length <= outer.offset + outer.length;
}

// An operation sends OWN from its beginning. Returns how many bytes of it the target has
// acknowledged, if UNACKNOWLEDGED are the ranges that it has not, or 0 if none of them is in OWN.
std::size_t acknowledged_of(const PoolRange& own, const std::vector<PoolRange>& unacknowledged) {
    std::size_t first = own.offset + own.length;
    bool is_there = false;
    for (const PoolRange& range : unacknowledged) {
        if (!is_within(range, own))
            continue;
        first = std::min(first, range.offset);
        is_there = true;
    }
    return is_there ? first - own.offset : 0;
}

} // namespace

Result<> Pool::make_usable(const char* call, unsigned index, CallBound& bound) {
    std::vector<PoolRange>& unconfirmed = unconfirmed_[index];
    // Another call may have replaced the connection that this lane has lost.
    const bool recovers = lanes_.has_lost(index);
    while (true) {
        RPMEM_ASSIGN(auto next, this->connection(call, bound));
        if (!lanes_.has_joined(index, *next)) {
            leave(index);
            lanes_.join(index, std::move(next));
        }
        Connection& connection = lanes_.connection(index);
        auto lane = link_->use_lane(connection, index, recovers, bound);
        if (!lane && connection.monitor().lost())
            continue;
        RPMEM_TRY(in_context(call, lane));
        if (const int code = replay(**lane, unconfirmed, bound)) {
            RPMEM_TRY(in_context(call, link_->lane_failed(connection, **lane, code, bound)));
            if (code == EFAULT)
                return in_context(call, unreadable(unconfirmed));
            continue;
        }
        (*lane)->count_waits_in(counters_.lane(index).waits);
        lanes_.put(index, **lane);
        return {};
    }
}

// Keeps the unacknowledged ranges of the lane, and removes it from its slot. In this order, because
// there may be no memory for the ranges.
void Pool::leave(unsigned index) {
    if (const FrameLane* const lane = lanes_.lane(index))
        lane->add_unconfirmed(unconfirmed_[index]);
    lanes_.leave(index);
}

// Sends the current contents of RANGES with strict writes, and waits until they are durable.
// Returns the code of LANE. Removes acknowledged ranges from RANGES, even if the lane is lost.
int Pool::replay(FrameLane& lane, std::vector<PoolRange>& ranges, CallBound& bound) {
    if (bound.has_begun())
        lane.limit_waits(bound.limit(settings_.operation_timeout));
    const std::size_t owed = covered_by(ranges);
    std::size_t sent = 0;
    int code = 0;
    for (; code == 0 && sent < ranges.size(); ++sent) {
        code = lane.flush(ranges[sent].offset, ranges[sent].length, false);
        if (code == 0)
            link_->count_replayed(ranges[sent].length);
    }
    if (code == 0)
        code = lane.drain();
    if (code == 0) {
        if (owed > 0)
            bound.renew();
        ranges.clear();
        return 0;
    }
    // The last range is kept as a whole, because only a part of it may have been sent.
    std::vector<PoolRange> rest;
    lane.add_unconfirmed(rest);
    if (sent > 0) {
        const PoolRange last = ranges[sent - 1];
        std::erase_if(rest, [&](const PoolRange& piece) { return is_within(piece, last); });
        rest.insert(rest.end(), ranges.begin() + static_cast<std::ptrdiff_t>(sent) - 1,
                    ranges.end());
    }
    if (covered_by(rest) < owed)
        bound.renew();
    ranges = std::move(rest);
    return code;
}

// The ranges of the failed operation itself are not replayed, because the caller repeats the
// operation. Otherwise each session could acknowledge them as progress in replay(), and the call
// would reconnect for ever.
Result<> Pool::recover(const char* call, unsigned index, int code, const FailedOperation& operation,
                       CallBound& bound) {
    const PoolRange& own = operation.own;
    std::vector<PoolRange>& unconfirmed = unconfirmed_[index];
    const FrameLane& lane = *lanes_.lane(index);
    const std::uint64_t progress = lane.progress() - operation.before;
    RPMEM_TRY(in_context(call, link_->lane_failed(lanes_.connection(index), lane, code, bound)));
    leave(index);
    if (code == EFAULT)
        return in_context(call, unreadable(unconfirmed));
    bound.renew_beyond(own.length == 0 ? progress : acknowledged_of(own, unconfirmed));
    std::erase_if(unconfirmed, [&](const PoolRange& range) { return is_within(range, own); });
    return make_usable(call, index, bound);
}

// Returns the error of a call that failed with EFAULT: the kernel cannot access memory of the
// application. Removes unreadable ranges from RANGES, because no session could replay them.
Error Pool::unreadable(std::vector<PoolRange>& ranges) const {
    std::string which;
    std::erase_if(ranges, [&](const PoolRange& range) {
        if (is_readable({arguments_.address + range.offset, range.length}))
            return false;
        if (which.empty())
            which = fmt::format("{} bytes at offset {} of the pool, at {}", range.length,
                                range.offset, fmt::ptr(arguments_.address + range.offset));
        return true;
    });
    return {EFAULT, ErrorClass::caller_fault,
            which.empty() ? "memory of the application that the call uses cannot be accessed; is "
                            "the buffer mapped?"
                          : which + " cannot be read by this process; are they mapped, and with "
                                    "PROT_READ? They may be missing from the replica, and are not "
                                    "sent again"};
}

} // namespace rpmem::initiator
