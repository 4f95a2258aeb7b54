// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/registration.hpp"

#include "rpmemd/registry/fence.hpp"
#include "rpmemd/registry/pool_files.hpp"

#include <unistd.h>

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
    }
    return hash(bytes);
}

Result<Digest> digest_of(std::span<const PoolHeader> headers) {
    return hash(std::as_bytes(headers));
}

std::string shown(const std::filesystem::path& path) {
    return printable(path.native()).substr(0, most_record_text);
}

Failure stale(const std::string& pool_set, const char* why) {
    return fail(ErrorClass::target_refused, ESTALE, "pool {}: {}; {}", pool_set, why, how_to_renew);
}

} // namespace

void Registration::warn(const std::string& text) {
    log_.warning("{}", text);
    notices_.push_back(text);
}

Result<> Registration::end_earlier() const {
    if (identity_.generation == 0)
        return {};
    std::vector<SessionRecord> earlier;
    for (const auto& [id, other, last_seen] : live_sessions(*directory_, log_)) {
        if (other.owner != identity_.owner)
            continue;
        if (other.generation > identity_.generation)
            return fail(ErrorClass::target_refused, EBUSY,
                        "session {} of this initiator is there already, and this one is only {}",
                        other.generation, identity_.generation);
        earlier.push_back(other);
    }
    for (const SessionRecord& other : earlier) {
        log_.notice("ends process {}, which serves session {} of this initiator", other.daemon.pid,
                    other.generation);
        RPMEM_TRY(fence(other.daemon));
    }
    return {};
}

Result<> Registration::enter(SessionIdentity identity) {
    become(State::unlisted);
    identity_ = std::move(identity);
    const bool takes_over = identity_.generation > 0 && !read_only_;
    auto directory = StateDirectory::open(state_dir_);
    if (directory)
        directory_ = std::move(*directory);
    else if (takes_over)
        return fail(ErrorClass::target_refused, EACCES,
                    "an earlier session cannot be taken up, as state-dir cannot be used: {}",
                    directory.error().text);
    if (directory_)
        remove_old_pool_files(*directory_);
    if (directory_ && !read_only_)
        RPMEM_TRY(end_earlier());
    const auto written = directory ? write_session() : Result<>(Failure(directory.error()));
    if (written)
        become(State::listed);
    else
        warn(fmt::format("after the loss of this session it cannot be taken up again, as state-dir "
                         "cannot be used: {}",
                         written.error().text));
    return {};
}

Result<> Registration::write_session() {
    RPMEM_ASSIGN(session_.daemon, own_identity());
    session_.owner = identity_.owner;
    session_.generation = identity_.generation;
    session_.initiator = identity_.initiator;
    session_.since = std::time(nullptr);
    session_.read_only = read_only_;
    RPMEM_ASSIGN(session_file_, make_session_file(*directory_, session_));
    return {};
}

std::optional<PoolRecord> Registration::read_pool_record(const std::string& name) {
    auto file = read_only_ ? StateFile::open(*directory_, name) : open_pool_file(*directory_, name);
    if (!file) {
        if (file.error().code != ENOENT)
            log_.error("the record of the pool is passed over: {}", file.error().text);
        return std::nullopt;
    }
    auto record = file->read<PoolRecord>();
    pool_file_ = std::move(*file);
    if (!record)
        log_.error("the record of the pool is passed over: {}", record.error().text);
    return record.value_or(std::nullopt);
}

Result<> Registration::compare(const std::optional<PoolRecord>& last, const PoolRecord& now) const {
    if (!last)
        return stale(now.pool_set, "state-dir has no record of the earlier session here");
    if (last->owner != now.owner)
        return stale(now.pool_set,
                     last->owner == Owner{}
                         ? "an administrator has evicted its session (rpmemctl evict), or a client "
                           "of protocol 0.1 has opened it for writing since"
                         : "another session has opened it for writing since");
    if (last->generation > now.generation)
        return stale(now.pool_set, "a later session of the same initiator has opened it since");
    if (last->parts != now.parts)
        return stale(now.pool_set, "its parts are other files than those of the earlier session");
    if (last->headers != Digest{} && last->headers != now.headers)
        return stale(now.pool_set, "the headers of its parts have been changed since");
    return {};
}

Result<> Registration::write_pool_record(const std::string& name,
                                         const std::optional<PoolRecord>& last) {
    const auto make_and_write = [&]() -> Result<> {
        if (!pool_file_) {
            RPMEM_ASSIGN(pool_file_, make_pool_file(*directory_, name));
        }
        return pool_file_->write(pool_);
    };
    const auto written = make_and_write();
    if (written)
        return {};
    pool_file_.reset(); // nothing more is written to it
    // The owner of the last record would not notice that there was a session since.
    const bool is_ours = last && last->owner == pool_.owner;
    const bool stays = !is_ours && ::unlinkat(directory_->fd(), name.c_str(), 0) != 0;
    if (stays && last && last->owner != Owner{})
        return fail(ErrorClass::resource_limit, EACCES,
                    "the record of an earlier session cannot be replaced: {}; make room in "
                    "state-dir, or remove {}",
                    written.error().text, directory_->path_of(name));
    warn(fmt::format("after the loss of this session its pool cannot be opened again, as state-dir "
                     "cannot be used: {}",
                     written.error().text));
    return {};
}

Result<> Registration::take_up(const PoolUse& use) {
    if (!directory_)
        return {};
    RPMEM_ASSIGN(const std::string name, pool_file_name(use.parts));
    auto last = read_pool_record(name);
    pool_ = {.owner = identity_.owner,
             .generation = identity_.generation,
             .initiator = identity_.initiator,
             .pool_set = shown(use.pool_set),
             .since = std::time(nullptr)};
    RPMEM_ASSIGN(pool_.parts, digest_of(use.parts));
    RPMEM_ASSIGN(pool_.headers, digest_of(use.headers));
    const bool goes_on = identity_.generation > 0 && !read_only_ && !use.created;
    if (goes_on)
        RPMEM_TRY(compare(last, pool_));
    else if (last && !last->closed && !use.created)
        warn(fmt::format("pool {}: the last session that wrote to it, of {}, was last seen {} and "
                         "did not end by closing it: it may lack the last calls of that session",
                         pool_.pool_set, describe(last->initiator),
                         describe_time(pool_file_->last_seen())));
    if (read_only_)
        pool_file_.reset();
    else
        RPMEM_TRY(write_pool_record(name, last));
    become(State::holding);
    last_ = std::move(last);
    session_.pool_set = pool_.pool_set;
    RPMEM_ASSIGN(session_.pool_set_key, key_of(use.pool_set));
    if (session_file_)
        if (const auto written = session_file_->write(session_); !written)
            log_.warning("others will not know who has the pool: {}", written.error().text);
    return {};
}

void Registration::save() {
    if (state_ != State::holding || !pool_file_)
        return;
    if (const auto written = pool_file_->write(pool_); !written)
        log_.warning("the record of the pool stays as it was: {}", written.error().text);
}

// Then the record is unlocked, so that the next session of the pool need not wait for it.
void Registration::save_last() {
    save();
    become(State::closed);
    pool_file_.reset();
}

void Registration::before_change() {
    has_changed_ = true;
    pool_.headers = {};
    save();
}

void Registration::after_change(std::span<const PoolHeader> headers) {
    if (const auto digest = digest_of(headers))
        pool_.headers = *digest;
    save();
}

void Registration::give_back() {
    if (has_changed_)
        return;
    pool_.closed = true;
    pool_ = last_.value_or(pool_);
    save_last();
}

void Registration::closed() {
    pool_.closed = true;
    save_last();
}

void Registration::seen() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_seen_ < seen_interval)
        return;
    last_seen_ = now;
    for (const auto* file : {&session_file_, &pool_file_})
        if (*file)
            (*file)->touch();
}

std::optional<Holder> Registration::holder(const std::filesystem::path& pool_set) const {
    const auto key = key_of(pool_set);
    if (!directory_ || !key)
        return std::nullopt;
    for (const auto& [id, record, last_seen] : live_sessions(*directory_, log_))
        if (record.pool_set_key == *key)
            return Holder{.description =
                              fmt::format("{}, since {}, last seen {}", describe(record.initiator),
                                          describe_time(record.since), describe_time(last_seen)),
                          .is_other_writer = !record.read_only && record.owner != identity_.owner};
    return std::nullopt;
}

} // namespace rpmem::target
