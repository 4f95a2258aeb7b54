// SPDX-License-Identifier: BSD-3-Clause
// The part of Registration that concerns the file of the session in state-dir.
#include "rpmemd/registry/pool_files.hpp"
#include "rpmemd/registry/registration.hpp"

#include <cerrno>
#include <ctime>

namespace rpmem::target {
namespace {

// Whether state-dir may be usable a moment later. Its file system may not be mounted yet, or may be
// full, and this system may lack descriptors or memory.
bool may_pass(int code) {
    return code == ENOENT || code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE ||
           code == ENOMEM;
}

} // namespace

Result<> Registration::end_earlier() const {
    if (identity_.generation == 0)
        return {};
    std::vector<LiveSession> earlier;
    for (const LiveSession& session : live_sessions(*directory_, log_)) {
        const SessionRecord& other = session.record;
        if (other.owner != identity_.owner)
            continue;
        if (other.generation > identity_.generation)
            return fail(ErrorClass::target_refused, EBUSY,
                        "a newer session (generation {}) exists; this one is generation {}",
                        other.generation, identity_.generation);
        earlier.push_back(session);
    }
    for (const LiveSession& other : earlier) {
        log_.notice("ending process {}, which serves generation {} of this initiator", other.pid,
                    other.record.generation);
        RPMEM_TRY(end_daemon(*directory_, other));
    }
    return {};
}

Result<> Registration::enter(SessionIdentity identity) {
    set_state(State::unlisted);
    identity_ = std::move(identity);
    const bool takes_over = identity_.generation > 0 && !read_only_;
    auto directory = StateDirectory::open(state_dir_);
    if (directory)
        directory_ = std::move(*directory);
    else if (takes_over)
        return fail(ErrorClass::target_refused,
                    may_pass(directory.error().code) ? directory.error().code : EACCES,
                    "an earlier session cannot be resumed, because state-dir cannot be used: {}",
                    directory.error().text);
    if (directory_) {
        remove_old_pool_files(*directory_);
        remove_ended_sessions(*directory_);
    }
    if (directory_ && !read_only_)
        RPMEM_TRY(end_earlier());
    const auto written = directory ? write_session() : Result<>(Failure(directory.error()));
    if (written)
        set_state(State::listed);
    else
        warn(fmt::format("this session cannot be resumed after a loss, because state-dir cannot be "
                         "used: {}",
                         written.error().text));
    return {};
}

Result<> Registration::write_session() {
    session_.owner = identity_.owner;
    session_.generation = identity_.generation;
    session_.initiator = identity_.initiator;
    session_.since = std::time(nullptr);
    session_.read_only = read_only_;
    RPMEM_ASSIGN(session_file_, make_session_file(*directory_, session_));
    return {};
}

void Registration::list(const PoolUse& use) {
    session_.pool_set = pool_name_;
    if (const std::string& part = use.parts.at(0).path; part.size() <= max_part_path)
        session_.part = part;
    const auto key = key_of(use.pool_set);
    session_.pool_set_key = key.value_or(transport::Digest{});
    if (session_file_)
        if (const auto written = session_file_->write(session_); !written)
            log_.warning("other sessions cannot learn who has the pool: {}", written.error().text);
}

void Registration::seen() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_seen_ < seen_interval)
        return;
    last_seen_ = now;
    if (session_file_)
        session_file_->touch();
}

std::optional<Holder> Registration::holder(const std::filesystem::path& pool_set) const {
    const auto key = key_of(pool_set);
    if (!directory_ || !key)
        return std::nullopt;
    for (const LiveSession& session : live_sessions(*directory_, log_)) {
        const SessionRecord& record = session.record;
        if (record.pool_set_key == *key)
            return Holder{.description = fmt::format(
                              "{}, since {}, last seen {}", describe(record.initiator),
                              describe_time(record.since), describe_time(session.last_seen)),
                          .is_other_writer = !record.read_only && record.owner != identity_.owner};
    }
    return std::nullopt;
}

} // namespace rpmem::target
