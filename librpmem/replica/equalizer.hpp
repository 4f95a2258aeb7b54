// SPDX-License-Identifier: BSD-3-Clause
// Makes the replica equal to the memory of this process before the first write of a session. After
// a session that was not closed, the replica may lack what the program had made durable locally and
// not sent yet. Equalizer::set_state() changes the state:
//
//   off      nothing is compared: RPMEM_EQUALIZE=no, a session that only reads, an older daemon, or
//            memory that is not known to hold the whole pool
//   pending  -> done  finish(): the first call that writes has compared, or need not compare
//                     hand_over(): the thread that catches up compares (RPMEM_ON_LOSS=alone)
//
// A read of the replica into the pool's memory shows that the memory is not the source. In every
// state it erases the initiator's record, so this session and later ones send nothing by
// themselves.
#pragma once

#include "common/base/log.hpp"
#include "common/wire/unsolicited.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/replica/block_map.hpp"
#include "librpmem/replica/block_sender.hpp"
#include "librpmem/replica/initiator_record.hpp"
#include "librpmem/replica/local_data.hpp"
#include "librpmem/replica/local_files.hpp"
#include "librpmem/replica/pool_image.hpp"
#include "librpmem/settings/settings.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

// A pool that has just been created or opened.
struct OpenedPool {
    std::span<std::byte> memory;
    std::size_t first_writable = 0; // offset after the header that the target keeps
    rpmem_pool_attr attributes{};
    std::string name{};                     // for display
    bool is_created = false;                // by this session
    std::optional<wire::PoolState> state{}; // nothing if the session only reads
    std::optional<wire::PoolClaim> claim{}; // of a session that only reads
};

class Equalizer {
public:
    // Looks at the memory and the record of this machine, and may write the record. Both together
    // take at most twice RPMEM_CONNECT_TIMEOUT.
    Equalizer(const OpenedPool& pool, const Settings& settings, Log log);
    Equalizer(const Equalizer&) = delete;
    Equalizer& operator=(const Equalizer&) = delete;

    // Fails with ESTALE if this memory cannot make the replica equal, and its bytes are
    // inconsistent, because it is catching up, or its initiator may have gone on without it.
    // RPMEM_EQUALIZE=no allows that.
    [[nodiscard]] Result<> may_open() const;
    // While this returns true, a call that writes must compare() and finish() first, under the
    // mutex.
    [[nodiscard]] bool is_pending() const { return state_.load() == State::pending; }
    // Whether the replica has the calls that returned 0 in an earlier session, which could go on
    // without it or was catching up. pending: the first write decides. missing: it may lack them,
    // and this session does not send them. Thread-safe.
    enum class EarlierCalls { present, pending, missing };
    [[nodiscard]] EarlierCalls earlier_calls() const;
    [[nodiscard]] std::mutex& mutex() { return mutex_; }
    [[nodiscard]] const std::string& name() const { return name_; } // of the pool, for the log

    // Whether the replica may be behind, or is_unknown_source_. A program that goes on alone later
    // sends whole blocks, also bytes that no call of this session has named. After
    // compare() also whether the replica has turned out to be an older copy.
    [[nodiscard]] bool must_compare() const {
        return target_.behind_since != 0 || is_catching_up() || is_unknown_source_ ||
               is_older_replica();
    }
    // Finds out whether this memory is an older copy of the replica. With must_compare(), also
    // compares the blocks that were not compared yet by their digests, and marks those that differ.
    // Returns a code of LANE. If it returns 0, check failure().
    [[nodiscard]] int compare(FrameLane& lane);
    // Whether the thread that catches up can compare instead, so that no call waits: this memory is
    // proved to be the newer side, and the record of this machine will prove it again. Reads from
    // LANE, and returns its code in CODE. hand_over() comes after go_on_alone().
    [[nodiscard]] bool may_hand_over(FrameLane& lane, int& code);
    void hand_over();
    // Returns why a block could not be compared, if its memory cannot be read.
    [[nodiscard]] const std::optional<Error>& failure() const { return sender_.failure(); }
    // Fails with ESTALE if an operator of the target has accepted the replica as it was, after the
    // last session of this memory. Then nothing may be written to it from this memory. Call it
    // before the first write.
    [[nodiscard]] Result<> check_accepted() const;
    [[nodiscard]] bool differs() const { return differing_.next(0) != differing_.blocks(); }
    // Whether this memory is proved to be the newer side.
    [[nodiscard]] bool may_send() const { return !missing_proof_; }
    // Sends the differing blocks. Returns like compare(). The target's record must say that the
    // replica catches up.
    [[nodiscard]] int send(FrameLane& lane);
    // Ends the comparison: the replica is equal now, or it differs and is left as it is. Stores or
    // erases the record of this machine, and logs the result.
    void finish();
    // Whether the program may go on without the replica (RPMEM_ON_LOSS=alone). That needs a later
    // session that knows that the replica lacks calls, and can prove that its memory has them. Logs
    // why not. Call it before the first write, and again after finish().
    [[nodiscard]] bool allows_alone() const;
    void log_not_alone(const std::string& why) const;

    // Stores ATTRIBUTES in the record of this machine, durably. Without ATTRIBUTES, removes those
    // that are there.
    // Fails if this machine has no record of this session.
    [[nodiscard]] Result<> keep(const std::optional<rpmem_pool_attr>& attributes);
    // Removes the attributes from the record, or the record if it cannot be written. Without it, a
    // later session sends neither.
    [[nodiscard]] Result<> forget_attributes();
    [[nodiscard]] bool has_header() const { return first_writable_ != 0; }
    // Returns the attributes that an earlier session has kept. Returns nothing if nothing proves
    // that this memory is the source of the replica.
    [[nodiscard]] std::optional<rpmem_pool_attr> kept_attributes() const;

    // Call it before a read of the replica into DESTINATION. Fails if the record of this machine
    // cannot be erased.
    [[nodiscard]] Result<> before_read(std::span<const std::byte> destination);

private:
    enum class State { off, pending, done };

    void set_state(State next) { state_.store(next); }
    [[nodiscard]] bool is_catching_up() const { return target_.catching_up_since != 0; }
    [[nodiscard]] bool may_lack_calls() const {
        return target_.alone_since != 0 && target_.behind_since != 0;
    }
    [[nodiscard]] bool holds_whole_pool(const OpenedPool& pool, const Settings& settings);
    void report_if_behind(bool is_whole) const;
    void look_at_machine();
    void store_record(const InitiatorRecord& record);
    void store_present_record();
    void keep_later_format(const Error& error);
    void forget();
    [[nodiscard]] int read_run_id(FrameLane& lane);
    [[nodiscard]] int compare_first_block(FrameLane& lane);
    void trust_memory_of_fresh_replica();
    // Whether the replica has seen a later run of libpmemobj than this memory had when it was
    // opened.
    [[nodiscard]] bool is_older_copy() const {
        return image_ && run_id_of_replica_ && *run_id_of_replica_ > image_->run_id;
    }
    // Whether it lacks runs that this memory has seen: its parts come from a backup, whatever their
    // record says.
    [[nodiscard]] bool is_older_replica() const {
        return !is_created_ && image_ && run_id_of_replica_ && *run_id_of_replica_ < image_->run_id;
    }
    [[nodiscard]] bool maps_pool_file(std::span<const std::byte> memory) const;
    [[nodiscard]] std::string why_not_alone() const;
    void log_progress(const char* what, std::size_t done);
    void set_done();

    std::span<std::byte> memory_;
    std::size_t first_writable_;
    BlockSender sender_;
    std::string name_;
    bool is_created_;
    Equalize equalize_;
    wire::PoolState target_{};
    std::chrono::milliseconds file_timeout_; // for files of this machine
    Log log_;
    std::mutex mutex_; // guards the members below
    std::atomic<State> state_ = State::off;
    std::optional<InitiatorRecordFile> record_file_; // nothing if the pool has no identity
    std::optional<PoolImage> image_;
    std::optional<std::string> missing_proof_;
    std::vector<LocalFile> files_; // empty if they are unknown
    InitiatorRecord record_;       // as it was written last
    bool has_record_ = false;      // this machine has a record, whatever it proves
    bool is_later_format_ = false; // a later version has written it, so it is not replaced
    // Epoch of the last claim with the files that are mapped now, from the record; 0 if unknown.
    std::uint64_t recorded_epoch_ = 0;
    // RPMEM_ON_LOSS=alone, and neither a proof nor a run ID of libpmemobj tells whether this memory
    // is older than the replica.
    bool is_unknown_source_ = false;
    bool is_write_unfinished_ = false;
    bool is_equal_ = false; // after finish() or hand_over()
    // Why this machine has no record of this session. A record that proves nothing is kept.
    std::string record_problem_ = "its record is that of another session";
    bool is_read_into_ = false; // the replica was read into the pool's memory
    BlockMap differing_;
    bool overwrites_ = false;  // a block differs, and the replica's is not all zeros
    LocalData data_;           // without blocks if nothing is known
    std::size_t compared_ = 0; // blocks
    std::size_t sent_ = 0;     // blocks
    std::optional<std::uint64_t> run_id_of_replica_;
    std::chrono::steady_clock::time_point began_{};
    std::chrono::steady_clock::time_point logged_{};
};

} // namespace rpmem::initiator
