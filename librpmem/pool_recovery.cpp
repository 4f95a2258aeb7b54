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
    LaneSlot& slot = slots_[index];
    while (true) {
        RPMEM_ASSIGN(auto connection, this->connection(call, bound));
        if (slot.connection != connection) {
            slot.leave();
            slot.connection = std::move(connection);
        }
        auto lane = use_lane(*slot.connection, index, bound);
        if (!lane && slot.connection->monitor().lost())
            continue;
        RPMEM_TRY(in_context(call, lane));
        if (const int code = replay(**lane, slot.unconfirmed, bound)) {
            RPMEM_TRY(in_context(call, lose(*slot.connection, **lane, code, bound)));
            if (code == EFAULT)
                return in_context(call, unreadable(slot.unconfirmed));
            continue;
        }
        slot.lane = *lane;
        slot.lane->count_waits_in(counters_.lane(index).waits);
        slot.monitor = &slot.connection->monitor();
        return {};
    }
}

// Connects lane INDEX if necessary. Declares CONNECTION lost if that fails and a new connection
// may help.
Result<FrameLane*> Pool::use_lane(Connection& connection, unsigned index, CallBound& bound) {
    const auto began = CallBound::Clock::now();
    const auto limit =
        std::min(settings_.connect_timeout, settings_.peer_timeout + link_->times().reconnecting);
    auto lane = connection.lanes().use_lane(index, bound.limit(limit));
    if (lane)
        return lane;
    Error error = std::move(lane).error();
    if (connection.loss_behind(error))
        return Failure(std::move(error));
    // A lack of descriptors may be temporary, so it is retried during a recovery. Otherwise the
    // call fails at once.
    const bool may_pass = error.kind == ErrorClass::link_lost ||
                          (bound.has_begun() && error.kind == ErrorClass::resource_limit);
    if (may_pass && connection.can_reconnect()) {
        const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
            CallBound::Clock::now() - began - settings_.peer_timeout);
        bound.begin(link_->times(), error.text, std::max(spent, CallBound::milliseconds(0)));
        error.kind = ErrorClass::link_lost;
        connection.monitor().declare_lost(error);
    }
    return Failure(std::move(error));
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
    LaneSlot& slot = slots_[index];
    const PoolRange& own = operation.own;
    const std::uint64_t progress = slot.lane->progress() - operation.before;
    RPMEM_TRY(in_context(call, lose(*slot.connection, *slot.lane, code, bound)));
    slot.leave();
    if (code == EFAULT)
        return in_context(call, unreadable(slot.unconfirmed));
    bound.renew_beyond(own.length == 0 ? progress : acknowledged_of(own, slot.unconfirmed));
    std::erase_if(slot.unconfirmed, [&](const PoolRange& range) { return is_within(range, own); });
    return make_usable(call, index, bound);
}

// Another connection does not help if the target violates the protocol, or if it is alive but does
// not complete an operation. Such an error is classified as a refusal. RPMEM_ON_LOSS=wait tries
// another connection even if the target is alive: its medium may only stall.
Error Pool::classify(Connection& connection, Error error) const {
    const bool lives = connection.can_resume() && !connection.session().is_silent();
    const bool is_late = error.code == ETIMEDOUT && lives && !link_->waits_without_limit();
    if (error.code == EBADMSG || is_late)
        error.kind = ErrorClass::target_refused;
    return error;
}

Result<> Pool::lose(Connection& connection, const FrameLane& lane, int code,
                    const CallBound& bound) {
    Monitor& monitor = connection.monitor();
    Session& session = connection.session();
    if (code == ETIMEDOUT && bound.has_begun() && !link_->waits_without_limit()) {
        monitor.declare_lost({ETIMEDOUT, ErrorClass::link_lost,
                              fmt::format("{} acknowledged nothing in the time that was left after "
                                          "the session had been lost ({})",
                                          host_, link_->limit())});
        return {};
    }
    if (code == ETIMEDOUT) {
        const Error late = classify(
            connection,
            {ETIMEDOUT, ErrorClass::link_lost,
             fmt::format("{} did not complete an operation within {} ms (RPMEM_OPERATION_TIMEOUT)",
                         host_, settings_.operation_timeout.count())});
        monitor.declare_lost(late);
        const bool may_help = late.kind == ErrorClass::link_lost && connection.can_reconnect();
        return may_help ? Result<>() : Failure(late);
    }
    if (code == EBADMSG) {
        Error broke = session.ending("rpmemd violated the protocol: " + lane.violation());
        broke.kind = ErrorClass::target_refused;
        monitor.declare_lost(std::move(broke));
    }
    if (code == EFAULT) {
        monitor.declare_lost(session.ending("a lane ended within a frame, because memory of "
                                            "the application cannot be accessed (EFAULT)"));
        return {};
    }
    // A lane usually fails because the session ends. Then the session has the reason.
    if (!monitor.reason(connection.explanation_time())) {
        const std::string words = printable(lane.output());
        monitor.declare_lost(
            session.ending(fmt::format("a lane failed: {}{}{}", lane.failure(),
                                       words.empty() ? "" : "; the target's error text: ", words)));
    }
    return {};
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
