// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/evict.hpp"

#include "common/base/deadline.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/registry/pool_files.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace rpmem::target {
namespace {

// Pause between two attempts. An initiator needs longer to log in again.
constexpr std::chrono::milliseconds pause_between_tries(20);

bool is_owners(StateFile& file, const Owner& owner) {
    const auto record = file.read<PoolRecord>();
    return record && *record && (*record)->owner == owner;
}

// Clears the owner of a record in state-dir, so that no session can resume it. Fails with ENOENT if
// the record was removed meanwhile.
Result<> void_record(const StateDirectory& directory, const std::string& name, const Owner& owner) {
    RPMEM_ASSIGN(auto file, open_pool_file(directory, name));
    RPMEM_ASSIGN(auto record, file.read<PoolRecord>());
    if (!record || record->owner != owner)
        return {};
    record->owner = Owner{};
    return file.write(*record);
}

Result<> void_records(const StateDirectory& directory, const Owner& owner) {
    for (const std::string& name : pool_file_names(directory)) {
        auto file = StateFile::open(directory, name);
        if (!file || !is_owners(*file, owner))
            continue;
        const auto voided = void_record(directory, name, owner);
        if (!voided && voided.error().code != ENOENT)
            return Result<>(Failure(voided.error()));
    }
    return {};
}

// Returns the record in the attribute of PART, or nothing if OWNER does not own it.
Result<std::optional<PoolRecord>> claim_in(const PartFile& part, const Owner& owner) {
    const auto value = PoolAttribute(part).read();
    if (!value && value.error().code == ENOTSUP)
        return std::nullopt;
    RPMEM_TRY(value);
    if (!*value)
        return std::nullopt;
    auto record = decode_attribute(**value);
    if (!record || record->owner != owner)
        return std::nullopt;
    return std::optional(std::move(*record));
}

// Clears the owner in the attribute of the first part. The session has written the path of the part
// into its record and may be compromised, so only a record with its owner is changed. Fails with
// EBUSY if another session of the initiator has the pool again.
Result<> void_attribute(const LiveSession& session, mode_t part_mode) {
    if (session.record.part.empty())
        return {};
    for (const bool locked : {false, true}) {
        PartRules rules;
        rules.mode = part_mode;
        rules.unlocked = !locked;
        auto part = PartFile::open(session.record.part, rules);
        if (!part)
            return part.error().code == ENOENT ? Result<>() : Result<>(Failure(part.error()));
        RPMEM_ASSIGN(auto record, claim_in(*part, session.record.owner));
        if (!record)
            return {};
        if (!locked)
            continue;
        RPMEM_ASSIGN(const std::string former, encode_attribute(*record));
        record->owner = Owner{};
        RPMEM_ASSIGN(const std::string bytes, encode_attribute(*record));
        return PoolAttribute(*part).write(bytes, former);
    }
    return {};
}

// Ends the daemons of the session and of all others with its owner. Returns whether there were any.
Result<bool> end_all(const StateDirectory& directory, const LiveSession& session, const Log& log) {
    bool ended = false;
    for (const LiveSession& each : live_sessions(directory, log)) {
        const bool same_owner =
            each.record.owner != Owner{} && each.record.owner == session.record.owner;
        if (each.id != session.id && !same_owner)
            continue;
        RPMEM_TRY(end_daemon(directory, each));
        log.notice("evicted session {} of {}", each.id, describe(each.record.initiator));
        ended = true;
    }
    return ended;
}

} // namespace

Result<LiveSession> evict(const StateDirectory& directory, std::string_view id, mode_t part_mode,
                          const Log& log, std::chrono::milliseconds within) {
    auto sessions = live_sessions(directory, log);
    const auto found = std::ranges::find(sessions, id, &LiveSession::id);
    if (found == sessions.end())
        return fail(ErrorClass::caller_fault, ENOENT, "there is no session {}",
                    printable(id.substr(0, max_record_text)));
    const Owner& owner = found->record.owner;
    // The initiator may log in again as soon as its daemon has ended, and then its record is
    // locked. So repeat this until no session came back before the owner was cleared.
    for (const Deadline deadline(within); !deadline.passed();
         std::this_thread::sleep_for(pause_between_tries)) {
        RPMEM_TRY(end_all(directory, *found, log));
        const auto voided =
            owner == Owner{} ? Result<>() : void_records(directory, owner).and_then([&] {
                return void_attribute(*found, part_mode);
            });
        if (!voided && voided.error().code != EBUSY)
            return Failure(voided.error());
        if (!voided)
            continue;
        RPMEM_ASSIGN(const bool came_back, end_all(directory, *found, log));
        if (!came_back)
            return std::move(*found);
    }
    return fail(ErrorClass::resource_limit, EBUSY,
                "session {} was ended, but for {} ms its initiator reconnected repeatedly, or "
                "another process kept its pool or the record of it locked; try again",
                found->id, within.count());
}

} // namespace rpmem::target
