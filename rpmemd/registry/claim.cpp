// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/claim.hpp"

#include <algorithm>
#include <ctime>

namespace rpmem::target {
namespace {

std::uint64_t next_epoch(const PoolRecord& record) {
    return std::max(record.epoch, record.released_epoch) + 1;
}

} // namespace

Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next, bool goes_on,
                          bool created) {
    next.epoch = !last ? 1 : goes_on ? last->epoch : next_epoch(*last);
    next.written_epoch = !last || created ? next.epoch : last->written_epoch;
    next.modified = 0;
    if (!last || created) {
        transport::SystemRandom random;
        RPMEM_TRY(random.fill(next.id));
        return next;
    }
    next.id = last->id;
    next.failure = last->failure;
    next.behind_since = last->behind_since;
    next.catching_up_since = last->catching_up_since;
    next.alone_since = last->alone_since;
    next.accepted_epoch = last->accepted_epoch;
    if (!goes_on && !last->closed && next.behind_since == 0)
        next.behind_since = last->since;
    // The claim began with the session of generation 0, which this one resumes.
    if (goes_on) {
        next.since = last->since;
        next.released_epoch = last->released_epoch;
    }
    return next;
}

bool is_changed_by_others(const PoolRecord& last, const PoolRecord& now) {
    const bool is_modified =
        last.modified != 0 && now.modified != 0 && last.modified != now.modified;
    return is_modified || (last.headers != transport::Digest{} && last.headers != now.headers);
}

PoolRecord changed_by_others(PoolRecord record) {
    constexpr std::int64_t second = 1000000000;
    record.epoch = next_epoch(record);
    record.written_epoch = record.epoch;
    record.owner = Owner{};
    record.generation = 0;
    if (record.closed && record.behind_since == 0)
        record.behind_since = record.modified != 0 ? record.modified / second : record.since;
    return record;
}

PoolRecord as_found(PoolRecord record, std::chrono::nanoseconds modified) {
    const PoolRecord now{.headers = record.headers, .modified = modified.count()};
    return is_changed_by_others(record, now) ? changed_by_others(std::move(record)) : record;
}

PoolRecord with_state(PoolRecord record, ReplicaState state, bool may_go_alone) {
    switch (state) {
    case ReplicaState::catching_up:
        if (record.catching_up_since == 0)
            record.catching_up_since = std::time(nullptr);
        break;
    case ReplicaState::in_sync:
        record.catching_up_since = 0;
        record.behind_since = 0;
        if (!may_go_alone)
            record.alone_since = 0;
        break;
    case ReplicaState::may_go_alone:
        if (record.alone_since == 0)
            record.alone_since = record.since;
        break;
    }
    return record;
}

PoolRecord accepted(PoolRecord record) {
    record.epoch = next_epoch(record);
    record.written_epoch = record.accepted_epoch = record.epoch;
    record.owner = Owner{};
    record.generation = 0;
    record.since = std::time(nullptr);
    record.closed = true;
    record.modified = 0; // whoever has changed the pool, its bytes are accepted
    record.behind_since = record.catching_up_since = record.alone_since = 0;
    return record;
}

bool may_be_ahead(const PoolRecord& record) {
    return record.alone_since != 0 && (!record.closed || record.behind_since != 0);
}

} // namespace rpmem::target
