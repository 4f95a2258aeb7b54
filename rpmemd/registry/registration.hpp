// SPDX-License-Identifier: BSD-3-Clause
// Registers a session in state-dir, and its claim in the record of the pool. From them a later
// session learns whether it may resume a lost one. States:
//
//   outside  -> listed    enter(): the session has a file in state-dir, locked until it exits
//   outside  -> unlisted  enter(): state-dir cannot be used; the session is served without a file
//   listed   -> holding   adopt(): the record of the pool contains the claim
//   unlisted -> holding   the same
//   holding  -> closed    closed(): the pool was closed cleanly; otherwise the next session warns
//   holding  -> closed    medium_failed(): the next session also reports the failure
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/registry/claim.hpp"
#include "rpmemd/registry/pool_record_place.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// The advice for a replica that may be behind.
inline constexpr const char* how_to_renew =
    "make it equal to its source with rpmemctl push, or remove the remote pool (rpmem_remove, or "
    "pmempool rm) and then run pmempool sync, which by itself takes it for healthy and copies "
    "nothing";

// Minimum interval between updates of last-seen.
inline constexpr std::chrono::seconds seen_interval(5);

// The identity of a session. Without LOGIN everything except the address is zero or empty.
struct SessionIdentity {
    Owner owner{};
    std::uint64_t generation = 0;
    InitiatorName initiator{};
};

// The use of a pool.
struct PoolUse {
    std::filesystem::path pool_set; // absolute
    std::vector<PartIdentity> parts;
    // The attribute of the first part, which must stay open while the session has the pool.
    PoolAttribute attribute;
    std::vector<PoolHeader> headers; // see Pool::lasting_headers()
    bool created = false;
    std::chrono::nanoseconds modified{}; // see Pool::modified_before()
};

// The session that has a pool.
struct Holder {
    std::string description;      // "user ..., since ..., last seen ..."
    bool is_other_writer = false; // the holder is another initiator, and may write
};

// What an initiator needs to make the replica equal, see wire::PoolState.
struct ClaimedPool {
    PoolId id{};
    std::uint64_t epoch = 0;
    std::uint64_t last_epoch = 0;
    std::int64_t behind_since = 0;
    std::int64_t catching_up_since = 0;
    std::int64_t alone_since = 0;
    std::uint64_t accepted_epoch = 0;
    transport::Digest parts{};

    bool operator==(const ClaimedPool&) const = default;
};

class Registration {
public:
    // Does not access STATE_DIR yet. READ_ONLY states that the session does not write.
    Registration(std::filesystem::path state_dir, bool read_only, Log log)
        : state_dir_(std::move(state_dir)), read_only_(read_only), log_(std::move(log)) {}

    // Call it once, before adopt(). A session of generation 1 or later that may write ends the
    // earlier sessions of its owner. It fails with EACCES if state-dir cannot be used, with EBUSY
    // if a later generation is alive, and like fence(). Other sessions are served without
    // state-dir.
    Result<> enter(SessionIdentity identity);
    [[nodiscard]] bool has_entered() const { return state_ != State::outside; }

    // Call it after the parts are locked, and before the response to OPEN or CREATE. Stores the
    // claim of a session that may write, which is durable on return. Fails like PoolRecordPlace if
    // the claim cannot be stored, and with ESTALE if a session that resumes does not find the pool
    // as the earlier generation left it. A session that only reads stores nothing. It logs and
    // ignores a record that it cannot read.
    // Unless KNOWS_STATES, the initiator cannot make the replica equal. Then a pool that is
    // catching up, or whose initiator may have gone on without it, is refused with ESTALE.
    Result<> adopt(const PoolUse& use, bool knows_states);
    // Call it before the initiator can write. Records that this claim may have changed the pool,
    // which is durable on return. Until then the last claim that may have done so is an earlier
    // one. Otherwise an initiator whose session is lost before it has learnt of its claim could not
    // prove any more that its memory is the source.
    Result<> begin_writing();
    // Call them before and after a change of the headers.
    void before_change();
    void after_change(std::span<const PoolHeader> headers);
    // Records that the replica is catching up, that it is equal to its source, so that it is no
    // longer behind, or that its initiator may go on without it. The record is durable on return.
    // On failure it stays as it was.
    Result<> set_replica_state(ReplicaState state);
    // Call it only if this session cannot have written. Restores the earlier record. If there was
    // none, stores this claim as closed. Does nothing after before_change(). The parts must still
    // be locked. medium_failed() may follow.
    void release();
    // Marks the claim as closed. HAS_WRITTEN: the session may have changed the pool. Everything
    // must be durable, and the parts still locked. Otherwise the next session could open the pool
    // before the record is written. MODIFIED is what Pool::modified() returns now.
    void closed(bool has_written, std::chrono::nanoseconds modified = {});
    // Call it if the session ends otherwise, also after adopt() has failed. Stores how the parts
    // are left. They must still be locked.
    void ended(std::chrono::nanoseconds modified);

    // Stores TEXT as the failure of the medium. The parts must still be locked.
    void medium_failed(const std::string& text);

    // Returns a descriptor of state-dir, or -1 if it cannot be used.
    [[nodiscard]] int directory() const { return directory_ ? directory_->fd() : -1; }

    // Call it when a message from the initiator has arrived.
    void seen();

    // Returns the record that a session that only reads has found, but with the present parts.
    // Returns an empty record if the pool has none, and nothing if it could not be read.
    [[nodiscard]] const std::optional<PoolRecord>& found_record() const { return found_record_; }

    // Returns the record of the pool with the claim of this session, and the epoch of the last
    // claim before it that may have changed the pool. Returns nothing if the session only reads.
    [[nodiscard]] std::optional<ClaimedPool> pool_state() const;

    // Returns the session that has POOL_SET, or nothing if it is unknown.
    [[nodiscard]] std::optional<Holder> holder(const std::filesystem::path& pool_set) const;

    // Returns the texts for the initiator since the last call.
    [[nodiscard]] std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

private:
    enum class State { outside, unlisted, listed, holding, closed };

    void set_state(State next) { state_ = next; }
    [[nodiscard]] Result<> end_earlier() const;
    Result<> write_session();
    [[nodiscard]] Result<PoolRecord> claim_of(const PoolUse& use) const;
    [[nodiscard]] Result<> compare(const PoolRecord& now) const;
    Result<> claim(bool goes_on, bool created, bool knows_states);
    void look();
    // NOTIFIES: also sends the warning to the initiator.
    void warn_if_behind(const std::optional<PoolRecord>& record, bool notifies);
    void list(const PoolUse& use);
    void warn_of_change(const PoolRecord& last, const PoolRecord& now);
    void save();
    void save_last();
    void warn(const std::string& text);

    std::filesystem::path state_dir_;
    bool read_only_;
    Log log_;
    State state_ = State::outside;
    SessionIdentity identity_;
    std::optional<StateDirectory> directory_; // nothing if it cannot be used
    SessionRecord session_;
    std::optional<StateFile> session_file_;
    std::string pool_name_; // for display
    PoolRecord pool_;
    // Nothing if the session only reads or the pool is closed.
    std::optional<PoolRecordPlace> place_;
    std::optional<PoolRecord> last_;         // the record before this session
    std::optional<PoolRecord> found_record_; // see found_record()
    bool has_changed_ = false;               // the headers or the state of the replica were changed
    bool may_go_alone_ = false; // the initiator of this session may go on without the replica
    std::chrono::steady_clock::time_point last_seen_{};
    std::vector<std::string> notices_;
};

} // namespace rpmem::target
