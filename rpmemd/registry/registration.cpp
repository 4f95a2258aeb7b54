// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/registration.hpp"

#include "rpmemd/registry/pool_files.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace rpmem::target {
namespace {

using transport::ByteView;
using transport::Digest;

template <typename T>
ByteView view(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

void append(std::vector<std::byte>& bytes, ByteView more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}

Result<Digest> hash(ByteView bytes) {
    Digest digest;
    if (!transport::sha256({bytes}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash");
    return digest;
}

Result<Digest> digest_of(const std::vector<PartIdentity>& parts) {
    std::vector<std::byte> bytes;
    for (const PartIdentity& part : parts) {
        append(bytes, view(part.file_system));
        append(bytes, view(part.inode));
        append(bytes, view(part.inode_generation));
    }
    return hash(bytes);
}

Result<Digest> digest_of(std::span<const PoolHeader> headers) {
    return hash(std::as_bytes(headers));
}

std::string shown(const std::filesystem::path& path) {
    return printable(path.native()).substr(0, max_record_text);
}

constexpr std::int64_t second = 1000000000; // in nanoseconds

// The advice for a pool that its program has to make equal. rpmem_remove() does not remove it, see
// check_removal().
constexpr const char* how_to_end_marks =
    "run that program again, make the pool equal to its source with rpmemctl push, accept this "
    "copy as it is with rpmemctl accept, or remove it with rpmemctl remove --force";

std::string describe_catching_up(const PoolRecord& record) {
    return fmt::format("it is catching up with {} since {}, and its bytes are inconsistent until "
                       "the program there has opened it again",
                       describe(record.initiator), describe_time(record.catching_up_since));
}

std::string describe_alone(const PoolRecord& record) {
    return fmt::format("the session of {} that began {} could go on without it "
                       "(RPMEM_ON_LOSS=alone), and was not closed",
                       describe(record.initiator), describe_time(record.alone_since));
}

Failure stale(const std::string& pool_set, std::string_view why,
              const char* advice = how_to_renew) {
    return fail(ErrorClass::target_refused, ESTALE, "pool {}: {}; {}", pool_set, why, advice);
}

} // namespace

void Registration::warn(const std::string& text) {
    log_.warning("{}", text);
    notices_.push_back(text);
}

Result<> Registration::compare(const PoolRecord& now) const {
    if (!last_)
        return stale(pool_name_, "it has no record of the earlier session");
    if (last_->owner != now.owner)
        return stale(
            pool_name_,
            last_->owner == Owner{}
                ? std::string("an administrator has evicted its session or accepted this copy "
                              "(rpmemctl evict, accept, take), another program has changed it, or "
                              "a client of protocol 0.1 has opened it for writing since")
                : fmt::format("another session, of {}, has opened it for writing since",
                              describe(last_->initiator)));
    if (last_->generation > now.generation)
        return stale(pool_name_,
                     fmt::format("a later session of the same initiator has opened it since: its "
                                 "generation is {}, that of this session is {}",
                                 last_->generation, now.generation));
    if (last_->parts != now.parts)
        return stale(pool_name_, "its parts are other files than those of the earlier session");
    if (last_->headers != Digest{} && last_->headers != now.headers)
        return stale(pool_name_, "the headers of its parts have been changed since");
    // An initiator that may go on alone compares the pool itself, see wire::PoolState.
    if (last_->modified != 0 && now.modified > last_->modified && last_->alone_since == 0)
        return stale(pool_name_, fmt::format("another program, such as rpmemd 1.12.1, has modified "
                                             "its parts {}, after the earlier session",
                                             describe_time(now.modified / second)));
    return {};
}

Result<PoolRecord> Registration::claim_of(const PoolUse& use) const {
    const auto cut = [](const std::string& text) { return text.substr(0, max_claim_text); };
    PoolRecord claim{.owner = identity_.owner,
                     .generation = identity_.generation,
                     .initiator = {.host = cut(identity_.initiator.host),
                                   .user = cut(identity_.initiator.user),
                                   .address = cut(identity_.initiator.address)},
                     .since = std::time(nullptr),
                     .modified = use.modified.count()};
    RPMEM_ASSIGN(claim.parts, digest_of(use.parts));
    RPMEM_ASSIGN(claim.headers, digest_of(use.headers));
    return claim;
}

void Registration::warn_if_behind(const std::optional<PoolRecord>& record, bool notifies) {
    if (!record)
        return;
    const auto warn = [&](const std::string& text) {
        if (notifies)
            this->warn(text);
        else
            log_.warning("{}", text);
    };
    if (!record->failure.empty())
        this->warn(
            fmt::format("pool {}: its medium has failed before: {}", pool_name_, record->failure));
    if (record->catching_up_since != 0)
        warn(fmt::format("pool {}: {}; {}", pool_name_, describe_catching_up(*record),
                         how_to_end_marks));
    else if (may_be_ahead(*record))
        warn(fmt::format("pool {} may be behind: {}; {}", pool_name_, describe_alone(*record),
                         how_to_end_marks));
    else if (!record->closed)
        warn(fmt::format(
            "pool {} may be behind: the last session that wrote to it, of {}, began {} "
            "and was not closed, so it may lack the last calls of that session; {}",
            pool_name_, describe(record->initiator), describe_time(record->since), how_to_renew));
    else if (record->behind_since != 0)
        warn(fmt::format("pool {} may be behind since {}: a session was not closed, or another "
                         "program has changed it, and it was not made equal since; {}",
                         pool_name_, describe_time(record->behind_since), how_to_renew));
}

void Registration::warn_of_change(const PoolRecord& last, const PoolRecord& now) {
    const std::string when =
        now.modified != 0 && now.modified != last.modified
            ? fmt::format("; its parts were modified {}", describe_time(now.modified / second))
            : std::string();
    warn(fmt::format("pool {} may be behind or ahead: another program, such as rpmemd 1.12.1, has "
                     "changed it after the last session of this rpmemd, of {}{}; compare it with "
                     "rpmemctl verify",
                     pool_name_, describe(last.initiator), when));
}

// The claim must be durable before this session may write. Otherwise a power failure could erase
// it, and the session that it replaced could resume.
Result<> Registration::claim(bool goes_on, bool created, bool knows_states) {
    RPMEM_ASSIGN(last_, in_context("the pool cannot be opened for writing", place_->read()));
    if (last_ && last_->catching_up_since != 0 && created) // its first page is hidden elsewhere
        return fail(ErrorClass::caller_fault, EEXIST, "pool {}: {}; {}", pool_name_,
                    describe_catching_up(*last_), how_to_end_marks);
    if (last_ && last_->catching_up_since != 0 && !created && !knows_states)
        return stale(pool_name_, describe_catching_up(*last_), how_to_end_marks);
    if (last_ && may_be_ahead(*last_) && !created && !knows_states)
        return stale(pool_name_, describe_alone(*last_), how_to_end_marks);
    const auto resumed = goes_on ? compare(pool_) : Result<>();
    // A session that is refused changes the parts, too, so it has to remember the change.
    if (last_ && !created && (!goes_on || !resumed) && is_changed_by_others(*last_, pool_)) {
        warn_of_change(*last_, pool_);
        last_ = changed_by_others(std::move(*last_));
    }
    RPMEM_TRY(resumed);
    RPMEM_ASSIGN(pool_, follow(last_, pool_, goes_on, created));
    may_go_alone_ = goes_on && pool_.alone_since != 0;
    return in_context("the pool cannot be opened for writing: its claim cannot be stored",
                      place_->write(pool_));
}

Result<> Registration::adopt(const PoolUse& use, bool knows_states) {
    pool_name_ = shown(use.pool_set);
    const bool goes_on = identity_.generation > 0 && !read_only_ && !use.created;
    RPMEM_ASSIGN(pool_, claim_of(use));
    place_.emplace(use.attribute, directory_ ? &*directory_ : nullptr, use.parts.at(0),
                   read_only_ ? PoolRecordPlace::Access::read_only
                              : PoolRecordPlace::Access::read_write);
    if (read_only_) {
        look();
    } else {
        auto claimed = claim(goes_on, use.created, knows_states);
        // Some file systems report only for a write that they do not support attributes.
        if (!claimed && claimed.error().code == ENOTSUP) {
            RPMEM_ASSIGN(pool_, claim_of(use));
            claimed = claim(goes_on, use.created, knows_states);
        }
        RPMEM_TRY(claimed);
        if (!place_->is_attribute())
            log_.warning("pool {}: its file system has no user attributes, so the record of its "
                         "writer is in state-dir: no other user and no other state-dir sees it",
                         pool_name_);
        // An initiator that knows the state reports it itself, with what it does about it.
        if (!goes_on && !use.created)
            warn_if_behind(last_, !knows_states);
    }
    set_state(State::holding);
    list(use);
    return {};
}

// Reads the record for warnings. A session that only reads does not need a record, so an error is
// only logged.
void Registration::look() {
    auto found = place_->read();
    place_.reset();
    if (!found) {
        log_.error("the record of the pool is ignored: {}", found.error().text);
        return;
    }
    const bool is_changed = *found && is_changed_by_others(**found, pool_);
    if (is_changed)
        warn_of_change(**found, pool_);
    warn_if_behind(*found, true);
    if (is_changed)
        **found = changed_by_others(std::move(**found)); // as the actions report it
    found_record_ = found->value_or(PoolRecord{});
    found_record_->parts = pool_.parts; // a part may have been replaced since the claim
}

void Registration::save() {
    if (state_ != State::holding || !place_)
        return;
    if (const auto written = place_->write(pool_); !written)
        log_.warning("the record of the pool was not updated: {}", written.error().text);
}

// Also unlocks the record, so that the next session of the pool need not wait for it.
void Registration::save_last() {
    save();
    set_state(State::closed);
    place_.reset();
}

Result<> Registration::begin_writing() {
    if (state_ != State::holding || !place_ || pool_.written_epoch == pool_.epoch)
        return {};
    PoolRecord next = pool_;
    next.written_epoch = next.epoch;
    RPMEM_TRY(
        in_context("that this session writes to the pool cannot be stored", place_->write(next)));
    pool_ = std::move(next);
    return {};
}

void Registration::before_change() {
    has_changed_ = true;
    pool_.written_epoch = pool_.epoch;
    pool_.headers = {};
    save();
}

void Registration::after_change(std::span<const PoolHeader> headers) {
    if (const auto digest = digest_of(headers))
        pool_.headers = *digest;
    save();
}

Result<> Registration::set_replica_state(ReplicaState state) {
    if (state_ != State::holding || !place_)
        return fail(ErrorClass::target_refused, EROFS,
                    "the state of the replica cannot be set in a session that only reads");
    RPMEM_TRY(in_context("the state of the replica cannot be stored",
                         place_->write(with_state(pool_, state, may_go_alone_))));
    pool_ = with_state(std::move(pool_), state, may_go_alone_);
    if (state == ReplicaState::may_go_alone)
        may_go_alone_ = true;
    else
        has_changed_ = true;
    return {};
}

std::optional<ClaimedPool> Registration::pool_state() const {
    if (state_ != State::holding || !place_)
        return std::nullopt;
    return ClaimedPool{.id = pool_.id,
                       .epoch = pool_.epoch,
                       .last_epoch = last_ ? last_->written_epoch : 0,
                       .behind_since = pool_.behind_since,
                       .catching_up_since = pool_.catching_up_since,
                       .alone_since = pool_.alone_since,
                       .accepted_epoch = pool_.accepted_epoch,
                       .parts = pool_.parts};
}

void Registration::release() {
    if (has_changed_)
        return;
    pool_.closed = true;
    pool_.alone_since = 0;
    const std::uint64_t epoch = pool_.epoch;
    pool_ = last_.value_or(pool_);
    if (epoch > pool_.epoch)
        pool_.released_epoch = epoch;
    save();
}

void Registration::closed(bool has_written, std::chrono::nanoseconds modified) {
    pool_.closed = true;
    pool_.modified = modified.count();
    if (!has_written && !has_changed_ && last_)
        pool_.written_epoch = last_->written_epoch;
    if (pool_.behind_since == 0 && pool_.catching_up_since == 0)
        pool_.alone_since = 0; // nothing was acknowledged without this replica
    save_last();
}

// A session whose claim was refused has modified the parts, too. An unknown time stays unknown.
void Registration::ended(std::chrono::nanoseconds modified) {
    if (std::exchange(pool_.modified, modified.count()) != modified.count())
        save();
    if (state_ == State::holding || !place_ || !last_ || last_->modified == 0 ||
        last_->modified == modified.count())
        return;
    last_->modified = modified.count();
    if (const auto written = place_->write(*last_); !written)
        log_.warning("the record of the pool was not updated: {}", written.error().text);
}

void Registration::medium_failed(const std::string& text) {
    pool_.failure = printable(text).substr(0, max_failure_text);
    if (place_)
        place_->sync_alone();
    save_last();
}

} // namespace rpmem::target
