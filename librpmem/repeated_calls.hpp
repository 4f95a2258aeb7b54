// SPDX-License-Identifier: BSD-3-Clause
// The templates of Pool that repeat a call in the next session if the present one is lost.
#pragma once

#include "librpmem/pool.hpp"

#include <cerrno>

namespace rpmem::initiator {

// Calls OPERATE with the lane, and repeats it on the next lane if the lane is lost. OPERATE returns
// the code of an operation that writes the range OWN, or writes nothing if OWN is empty.
template <typename Operate>
Result<> Pool::on_lane(const char* call, unsigned index, const PoolRange& own, CallBound& bound,
                       Operate operate) {
    FrameLane* lane = lanes_.usable(index);
    if (!lane) [[unlikely]] {
        RPMEM_TRY(make_usable(call, index, bound));
        lane = lanes_.lane(index);
    }
    std::uint64_t before = lane->progress();
    while (const int code = operate(*lane))
        [[unlikely]] {
            RPMEM_TRY(recover(call, index, code, {own, before}, bound));
            lane = lanes_.lane(index);
            before = lane->progress();
        }
    if (bound.has_begun()) [[unlikely]]
        lane->limit_waits(settings_.operation_timeout);
    return {};
}

// ASK sends a request. If the session is lost before the response, ASK is repeated in the next
// session.
template <typename Ask>
Result<> Pool::on_session(const char* call, CallBound& bound, Ask ask) {
    while (true) {
        RPMEM_ASSIGN(const auto connection, look(call, bound));
        if (bound.has_begun())
            connection->session().answers_within(bound.limit(settings_.operation_timeout));
        Result<> asked = ask(*connection);
        if (bound.has_begun())
            connection->session().answers_within(settings_.operation_timeout);
        if (asked ||
            (asked.error().kind == ErrorClass::target_refused && asked.error().code != EBADMSG))
            return asked;
        RPMEM_TRY(in_context(call, link_->lose(*connection, asked.error(), bound)));
    }
}

} // namespace rpmem::initiator
