// SPDX-License-Identifier: BSD-3-Clause
// What a call does when its lane is lost: another association, and there the ranges that the lane
// still owes. Every turn of every loop asks the link for the association, which bounds them all.
#include "librpmem/pool.hpp"
#include "librpmem/readable_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

std::size_t sum_of(const std::vector<PoolRange>& ranges) {
    std::size_t sum = 0;
    for (const PoolRange& range : ranges)
        sum += range.length;
    return sum;
}

bool is_within(const PoolRange& inner, const PoolRange& outer) {
    return inner.offset >= outer.offset &&
           inner.offset + inner.length <= outer.offset + outer.length;
}

} // namespace

Result<> Pool::make_usable(const char* call, unsigned index, CallBound& bound) {
    LaneSlot& slot = slots_[index];
    while (true) {
        RPMEM_ASSIGN(auto association, this->association(call, bound));
        if (slot.association != association) {
            slot.leave();
            slot.association = std::move(association);
        }
        auto lane = use_lane(*slot.association, index, bound);
        if (!lane && slot.association->monitor().lost())
            continue;
        RPMEM_TRY(in_context(call, lane));
        if (const int code = replay(**lane, slot.unconfirmed, bound)) {
            RPMEM_TRY(in_context(call, lose(*slot.association, **lane, code, bound)));
            if (code == EFAULT)
                return in_context(call, unreadable(slot.unconfirmed));
            continue;
        }
        slot.lane = *lane;
        slot.lane->count_waits_in(counters_.lane(index).waits);
        slot.monitor = &slot.association->monitor();
        return {};
    }
}

// If the lane cannot be connected because the link is lost, so is the association afterwards.
Result<FrameLane*> Pool::use_lane(Association& association, unsigned index, CallBound& bound) {
    const auto began = CallBound::Clock::now();
    const auto limit =
        std::min(settings_.connect_timeout, settings_.peer_timeout + link_->times().reconnecting);
    auto lane = association.lanes().use_lane(index, bound.limit(limit));
    if (lane)
        return lane;
    Error error = std::move(lane).error();
    if (association.loss_behind(error))
        return Failure(std::move(error));
    // A process without descriptors may have some in a moment. Before any loss, the caller decides.
    const bool may_pass = error.kind == ErrorClass::link_lost ||
                          (bound.has_begun() && error.kind == ErrorClass::resource_limit);
    if (may_pass && association.can_reconnect()) {
        const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
            CallBound::Clock::now() - began - settings_.peer_timeout);
        bound.begin(link_->times(), error.text, std::max(spent, CallBound::milliseconds(0)));
        error.kind = ErrorClass::link_lost;
        association.monitor().declare_lost(error);
    }
    return Failure(std::move(error));
}

// Sends what RANGES hold now, by the strict way, and all of it is durable in the end. What is
// acknowledged leaves RANGES, also if the lane is lost on the way.
int Pool::replay(FrameLane& lane, std::vector<PoolRange>& ranges, CallBound& bound) {
    if (bound.has_begun())
        lane.limit_waits(bound.limit(settings_.operation_timeout));
    const std::size_t owed = sum_of(ranges);
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
    // The range that failed stays as a whole: it may have been sent in part.
    std::vector<PoolRange> rest;
    lane.add_unconfirmed(rest);
    if (sent > 0) {
        const PoolRange last = ranges[sent - 1];
        std::erase_if(rest, [&](const PoolRange& piece) { return is_within(piece, last); });
        rest.insert(rest.end(), ranges.begin() + static_cast<std::ptrdiff_t>(sent) - 1,
                    ranges.end());
    }
    if (sum_of(rest) < owed)
        bound.renew();
    ranges = std::move(rest);
    return code;
}

// What CALL itself had under way is not replayed: its operation starts again. If it were, each
// session could acknowledge it as something new, and none would get any further.
Result<> Pool::recover(const char* call, unsigned index, int code, const PoolRange& own,
                       CallBound& bound) {
    LaneSlot& slot = slots_[index];
    const std::uint64_t progress = slot.lane->progress();
    RPMEM_TRY(in_context(call, lose(*slot.association, *slot.lane, code, bound)));
    slot.leave();
    if (code == EFAULT)
        return in_context(call, unreadable(slot.unconfirmed));
    std::erase_if(slot.unconfirmed, [&](const PoolRange& range) { return is_within(range, own); });
    if (bound.has_begun())
        bound.renew_beyond(progress);
    return make_usable(call, index, bound);
}

// What another association would not change is no loss of the link: a target that breaks the
// protocol, and one that lives and does not answer.
Error Pool::classify(Association& association, Error error) {
    const bool lives = association.can_resume() && !association.session().is_silent();
    if (error.code == EBADMSG || (error.code == ETIMEDOUT && lives))
        error.kind = ErrorClass::target_refused;
    return error;
}

Result<> Pool::lose(Association& association, const FrameLane& lane, int code,
                    const CallBound& bound) {
    Monitor& monitor = association.monitor();
    Session& session = association.session();
    if (code == ETIMEDOUT && bound.has_begun()) {
        monitor.declare_lost({ETIMEDOUT, ErrorClass::link_lost,
                              fmt::format("{} acknowledged nothing in the time that was left after "
                                          "the session had been lost ({})",
                                          host_, link_->limit())});
        return {};
    }
    if (code == ETIMEDOUT) {
        const Error late = classify(
            association,
            {ETIMEDOUT, ErrorClass::link_lost,
             fmt::format("{} did not complete an operation within {} ms (RPMEM_OPERATION_TIMEOUT)",
                         host_, settings_.operation_timeout.count())});
        monitor.declare_lost(late);
        const bool may_help = late.kind == ErrorClass::link_lost && association.can_reconnect();
        return may_help ? Result<>() : Failure(late);
    }
    if (code == EBADMSG) {
        Error broke = session.ending("rpmemd broke the protocol: " + lane.complaint());
        broke.kind = ErrorClass::target_refused;
        monitor.declare_lost(std::move(broke));
    }
    if (code == EFAULT) {
        monitor.declare_lost(session.ending("a lane ended in the middle of a frame, as memory of "
                                            "the application cannot be accessed (EFAULT)"));
        return {};
    }
    // A lane that breaks does so because the session ends, as a rule, which can say why.
    if (!monitor.reason(association.explanation_time())) {
        const std::string words = printable(lane.output());
        monitor.declare_lost(
            session.ending(fmt::format("a lane failed: {}{}{}", lane.failure(),
                                       words.empty() ? "" : "; the target's error text: ", words)));
    }
    return {};
}

// The error of a call that met memory of the application that the kernel cannot access. Ranges of
// such memory leave RANGES: no session could ever replay them.
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
                                    "PROT_READ? They were not sent, and are not sent again"};
}

} // namespace rpmem::initiator
