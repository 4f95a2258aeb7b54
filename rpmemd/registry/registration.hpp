// SPDX-License-Identifier: BSD-3-Clause
// One session: its identity and its end, in the directory state-dir, and its claim to a pool, in
// the record of the pool. They tell a later session whether it may go on after an earlier one was
// lost. Registration::become() changes the state:
//   outside -> listed    enter(): it has a file of its own, locked until the process ends
//   outside -> unlisted  enter(): state-dir cannot be used; it is served all the same
//   listed, unlisted -> holding  take_up(): the record of the pool has its claim
//   holding -> closed    closed(): the pool is nobody's; without it the next session is warned
//   holding -> closed    medium_failed(): the next session is told why, too
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/pools/part_identity.hpp"
#include "rpmemd/pools/pool_header.hpp"
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

// The remedy for a replica that is not what it was.
inline constexpr const char* how_to_renew = "remove the remote pool (rpmem_remove, or pmempool "
                                            "rm), and then run pmempool sync, which alone "
                                            "would take it for healthy and copy nothing";

// How often a session says that it lives, at most.
inline constexpr std::chrono::seconds seen_interval(5);

// The identity of a session. Without LOGIN: all zeros and empty, but for the address.
struct SessionIdentity {
    Owner owner{};
    std::uint64_t generation = 0;
    InitiatorName initiator{};
};

// The use of a pool.
struct PoolUse {
    std::filesystem::path pool_set; // absolute
    std::vector<PartIdentity> parts;
    PoolAttribute attribute;         // of the first part, open until the session gives up the pool
    std::vector<PoolHeader> headers; // see Pool::lasting_headers()
    bool created = false;
};

// The session that has a pool.
struct Holder {
    std::string description;      // "user ..., since ..., last seen ..."
    bool is_other_writer = false; // another initiator's, and it may write
};

class Registration {
public:
    // STATE_DIR is used when the session enters. READ_ONLY: the session writes to no pool.
    Registration(std::filesystem::path state_dir, bool read_only, Log log)
        : state_dir_(std::move(state_dir)), read_only_(read_only), log_(std::move(log)) {}

    // Once, before there is a pool. A generation above 0 ends what is left of its earlier ones.
    // EACCES: state-dir cannot be used, and a later generation needs it. EBUSY: see fence(), and if
    // a later generation is there.
    Result<> enter(SessionIdentity identity);
    [[nodiscard]] bool has_entered() const { return state_ != State::outside; }

    // After the parts are locked, and before the pool is answered as open. A session that may write
    // makes its claim durable in the record of the pool, or does not get the pool. ESTALE: the pool
    // of the earlier generation is not there any more. Else see PoolRecordPlace.
    Result<> take_up(const PoolUse& use);
    // Around a change of the headers.
    void before_change();
    void after_change(std::span<const PoolHeader> headers);
    // Nobody has written to the pool: its record is again what it was, unless headers were changed.
    // Its parts are still locked; medium_failed() may follow.
    void give_back();
    // CLOSE has closed the pool, and all is durable. Its parts are still locked: otherwise the next
    // session could open the pool before its record says this.
    void closed();

    // The medium of the pool has failed, as TEXT tells. Its parts are still locked.
    void medium_failed(const std::string& text);

    // state-dir, as a descriptor; -1: it cannot be used.
    [[nodiscard]] int directory() const { return directory_ ? directory_->fd() : -1; }

    // Something was heard of the initiator.
    void seen();

    // Nothing: it is not known who has POOL_SET.
    [[nodiscard]] std::optional<Holder> holder(const std::filesystem::path& pool_set) const;

    // Texts for the initiator that came up since the last call.
    [[nodiscard]] std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

private:
    enum class State { outside, unlisted, listed, holding, closed };

    void become(State next) { state_ = next; }
    [[nodiscard]] Result<> end_earlier() const;
    Result<> write_session();
    [[nodiscard]] Result<PoolRecord> claim_of(const PoolUse& use) const;
    [[nodiscard]] Result<> compare(const PoolRecord& now) const;
    Result<> claim(bool goes_on, bool created);
    void look();
    void warn_if_behind(const std::optional<PoolRecord>& record);
    void list(const PoolUse& use);
    void save();
    void save_last();
    void warn(const std::string& text);

    std::filesystem::path state_dir_;
    bool read_only_;
    Log log_;
    State state_ = State::outside;
    SessionIdentity identity_;
    std::optional<StateDirectory> directory_; // nothing: it cannot be used
    SessionRecord session_;
    std::optional<StateFile> session_file_;
    std::string pool_name_; // for people
    PoolRecord pool_;
    std::optional<PoolRecordPlace> place_; // nothing: the session only reads, or the pool is closed
    std::optional<PoolRecord> last_;       // of the pool, before this one
    bool has_changed_ = false;             // headers
    std::chrono::steady_clock::time_point last_seen_{};
    std::vector<std::string> notices_;
};

} // namespace rpmem::target
