// SPDX-License-Identifier: BSD-3-Clause
// The part of Link that reports whether the replica is in sync, and waits until it is. The states
// are those of the program, which does not distinguish all states of the link:
//
//   link           the program sees
//   connected      in_sync; if the session is lost and no call has found that yet: away, or failed
//                  if the next call would fail for good
//   reconnecting   away
//   away           away, or failed if the target is not tried again
//   catching_up    catching_up
//   paused         paused
//   failed         failed
#include "librpmem/connection/link.hpp"

#include <cerrno>

namespace rpmem::initiator {
namespace {

// A shorter wait does not log in, because the attempt would usually be abandoned. A program that
// repeatedly waits for 100 ms would make ten logins per second.
constexpr std::chrono::milliseconds min_login_time(1000);

} // namespace

std::optional<Error> Link::unnoticed_loss() const {
    if (state_ != State::connected || !current_->monitor().lost())
        return {};
    return current_->monitor().reason(std::chrono::milliseconds(0));
}

std::optional<Error> Link::why_not_in_sync() const {
    if (state_ == State::failed)
        return failure_;
    return state_ == State::connected ? unnoticed_loss() : last_problem_;
}

SyncState Link::sync_state() const {
    switch (state_) {
    case State::connected:
        if (const auto loss = unnoticed_loss()) {
            const bool is_final = alone_ ? without_target(*loss) != WithoutTarget::goes_on
                                         : !may_replace(*current_, *loss);
            return is_final ? SyncState::failed : SyncState::away;
        }
        return SyncState::in_sync;
    case State::away:
        return has_failed_ ? SyncState::failed : SyncState::away;
    case State::catching_up:
        return SyncState::catching_up;
    case State::paused:
        return SyncState::paused;
    case State::failed:
        return SyncState::failed;
    case State::reconnecting:
        break;
    }
    return SyncState::away;
}

void Link::note_sync_state() {
    const SyncState present = sync_state();
    if (present == sync_state_)
        return;
    sync_state_ = present;
    sync_since_ = now();
    changed_.notify_all();
}

void Link::wake_waits() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

// Releases LOCK meanwhile, because it reads from the session.
void Link::look_for_loss(std::unique_lock<std::mutex>& lock) {
    if (state_ == State::connected) {
        const std::shared_ptr<Connection> connection = current_;
        lock.unlock();
        static_cast<void>(connection->monitor().find_lost());
        lock.lock();
    }
    note_sync_state();
}

ReplicaReport Link::replica_report() {
    std::unique_lock lock(mutex_);
    look_for_loss(lock);
    ReplicaReport report{.state = sync_state_, .since = sync_since_};
    if (auto why = why_not_in_sync())
        report.reason = std::move(why->text);
    return report;
}

// Fails if the replica can no longer become in sync. Gives up on a final loss that no call has
// found yet, so that every later call reports the same error.
Result<bool> Link::is_in_sync(const IsEqual& is_equal) {
    const SyncState present = sync_state();
    if (present == SyncState::in_sync)
        return is_equal();
    if (present != SyncState::failed)
        return false;
    if (auto loss = unnoticed_loss())
        give_up(std::move(*loss));
    Error error = why_not_in_sync().value();
    // ETIMEDOUT would mean that the wait may be repeated. Calls on an open pool never return
    // EBADMSG.
    if (error.code == ETIMEDOUT || error.code == EBADMSG)
        error.code = ECONNRESET;
    return Failure(std::move(error));
}

// If it does not succeed by END, the connection stays lost, and the next call tries again.
void Link::replace_lost(std::unique_lock<std::mutex>& lock, Clock::time_point end) {
    const Error loss = unnoticed_loss().value();
    if (!may_replace(*current_, loss))
        return give_up(loss);
    CallTimes times = times_locked();
    times.reconnecting = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    CallBound bound;
    bound.end_exactly();
    bound.begin(times, loss.text);
    reconnect(lock, loss, bound);
}

Result<> Link::await_in_sync(std::chrono::milliseconds time, const IsEqual& is_equal) {
    const auto end = Clock::now() + time;
    std::unique_lock lock(mutex_);
    while (true) {
        look_for_loss(lock);
        RPMEM_ASSIGN(const bool is_done, is_in_sync(is_equal));
        if (is_done)
            return {};
        const auto left = end - Clock::now();
        if (left <= Clock::duration::zero()) {
            const auto why = why_not_in_sync();
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "the replica is not in sync after {} ms: {}", time.count(),
                        why ? why->text
                            : "it was not compared yet, which the first call that writes does, or "
                              "the target has not recorded yet that it is in sync");
        }
        const auto loss = unnoticed_loss();
        if (loss && (left >= min_login_time || !may_replace(*current_, *loss)))
            replace_lost(lock, end);
        else
            changed_.wait_until(lock, end);
    }
}

} // namespace rpmem::initiator
