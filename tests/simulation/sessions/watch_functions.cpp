// SPDX-License-Identifier: BSD-3-Clause
// Reports the operations of lanes, and new connections of the link, to CallWatch. The linker's
// --wrap replaces functions of the library by these, which call the original ones.
#include "librpmem/connection/link.hpp"
#include "tests/simulation/sessions/alone_watch.hpp"
#include "tests/simulation/sessions/call_watch.hpp"
#include "tests/simulation/sessions/planted.hpp"

namespace rpmem::simulation::sessions {

using initiator::CallBound;
using initiator::Connection;
using initiator::FrameLane;
using initiator::Link;

using AddUnconfirmed = void(const FrameLane*, Ranges&);
AddUnconfirmed real_add_unconfirmed __asm__(
    "__real__ZNK5rpmem9initiator9FrameLane15add_unconfirmedERSt6vectorINS0_9PoolRangeESaIS3_EE");
using Write = int(FrameLane*, std::size_t, std::size_t, bool);
Write real_flush __asm__("__real__ZN5rpmem9initiator9FrameLane5flushEmmb");
Write real_persist __asm__("__real__ZN5rpmem9initiator9FrameLane7persistEmmb");
using DeepPersist = int(FrameLane*, std::size_t, std::size_t);
DeepPersist real_deep_persist __asm__("__real__ZN5rpmem9initiator9FrameLane12deep_persistEmm");
using Read = int(FrameLane*, std::byte*, std::size_t, std::size_t);
Read real_read __asm__("__real__ZN5rpmem9initiator9FrameLane4readEPSt4bytemm");
using Digests = int(FrameLane*, std::span<wire::BlockDigest>, std::size_t, std::size_t,
                    const std::function<void()>&);
Digests real_digests __asm__(
    "__real__ZN5rpmem9initiator9FrameLane7digestsESt4spanISt5arrayISt4byteLm16EELm1844674407370955"
    "1615EEmmRKSt8functionIFvvEE");
using SendCopies = int(FrameLane*, std::span<const initiator::CopiedRange>, std::uint64_t);
SendCopies real_send_copies __asm__(
    "__real__ZN5rpmem9initiator9FrameLane11send_copiesESt4spanIKNS0_11CopiedRangeELm18446744073"
    "709551615EEm");
using NextAssociation = Result<std::shared_ptr<Connection>>(Link*, CallBound&);
NextAssociation
    real_connection __asm__("__real__ZN5rpmem9initiator4Link10connectionERNS0_9CallBoundE");

namespace {

enum class Kind {
    part, // a part of a replay
    whole // the operation of a call, which each session repeats
};

// SENT is the range that the operation has sent if it succeeds.
template <typename Operate>
int watched(FrameLane* lane, Kind kind, const initiator::PoolRange& sent, Operate operate) {
    CallWatch* const watch = CallWatch::current();
    if (!watch)
        return operate();
    Ranges before;
    real_add_unconfirmed(lane, before);
    const std::uint64_t progress = lane->progress();
    const int code = operate();
    if (!CallWatch::current())
        return code;
    if (code == 0)
        before.push_back(sent);
    Ranges after;
    real_add_unconfirmed(lane, after);
    watch->operated({.before = std::move(before),
                     .after = std::move(after),
                     .frames = kind == Kind::whole ? lane->progress() - progress : 0,
                     .has_failed = code != 0});
    return code;
}

} // namespace

Write watched_flush __asm__("__wrap__ZN5rpmem9initiator9FrameLane5flushEmmb");
int watched_flush(FrameLane* lane, std::size_t offset, std::size_t length, bool relaxed) {
    return watched(lane, Kind::part, {offset, length},
                   [=] { return real_flush(lane, offset, length, relaxed); });
}

using Drain = int(FrameLane*);
Drain watched_drain __asm__("__wrap__ZN5rpmem9initiator9FrameLane5drainEv");
int watched_drain(FrameLane* lane) {
    return watched(lane, Kind::part, {}, [=] { return planted_drain(lane); });
}

Write watched_persist __asm__("__wrap__ZN5rpmem9initiator9FrameLane7persistEmmb");
int watched_persist(FrameLane* lane, std::size_t offset, std::size_t length, bool relaxed) {
    return watched(lane, Kind::whole, {offset, length},
                   [=] { return real_persist(lane, offset, length, relaxed); });
}

DeepPersist watched_deep_persist __asm__("__wrap__ZN5rpmem9initiator9FrameLane12deep_persistEmm");
int watched_deep_persist(FrameLane* lane, std::size_t offset, std::size_t length) {
    return watched(lane, Kind::whole, {offset, length},
                   [=] { return real_deep_persist(lane, offset, length); });
}

Read watched_read __asm__("__wrap__ZN5rpmem9initiator9FrameLane4readEPSt4bytemm");
int watched_read(FrameLane* lane, std::byte* destination, std::size_t offset, std::size_t length) {
    return watched(lane, Kind::whole, {},
                   [=] { return real_read(lane, destination, offset, length); });
}

Digests watched_digests __asm__(
    "__wrap__ZN5rpmem9initiator9FrameLane7digestsESt4spanISt5arrayISt4byteLm16EELm1844674407370955"
    "1615EEmmRKSt8functionIFvvEE");
int watched_digests(FrameLane* lane, std::span<wire::BlockDigest> place, std::size_t offset,
                    std::size_t length, const std::function<void()>& meanwhile) {
    return watched(lane, Kind::whole, {},
                   [&] { return real_digests(lane, place, offset, length, meanwhile); });
}

SendCopies watched_send_copies __asm__(
    "__wrap__ZN5rpmem9initiator9FrameLane11send_copiesESt4spanIKNS0_11CopiedRangeELm18446744073"
    "709551615EEm");
int watched_send_copies(FrameLane* lane, std::span<const initiator::CopiedRange> ranges,
                        std::uint64_t durable) {
    clear_late_marks();
    if (AloneWatch* const watch = AloneWatch::of_program())
        watch->sends_blocks();
    return watched(lane, Kind::whole, {}, [=] { return real_send_copies(lane, ranges, durable); });
}

NextAssociation
    watched_connection __asm__("__wrap__ZN5rpmem9initiator4Link10connectionERNS0_9CallBoundE");
Result<std::shared_ptr<Connection>> watched_connection(Link* link, CallBound& bound) {
    if (renews_at_each_loss())
        bound.renew();
    auto connection = real_connection(link, bound);
    if (CallWatch* const watch = CallWatch::current(); watch && connection)
        watch->session_is_up();
    return connection;
}

} // namespace rpmem::simulation::sessions
