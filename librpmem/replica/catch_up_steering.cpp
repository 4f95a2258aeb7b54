// SPDX-License-Identifier: BSD-3-Clause
// The part of CatchUp that an operator steers (rpmemctl pause, resume and rate).
#include "librpmem/replica/catch_up.hpp"

#include <cerrno>

namespace rpmem::initiator {

Result<> CatchUp::require_not_failed() const {
    const ReplicaState state = replica_.state();
    if (state != ReplicaState::failed && state != ReplicaState::stale)
        return {};
    return fail(
        ErrorClass::link_lost, EIO,
        "the replica of {} has failed, and is not tried again; the log of the program has the "
        "reason; repair it, and restart the program",
        terms_.name);
}

// Fails if the session that catches up must end: the pool is being closed, or is paused.
Result<> CatchUp::require_in_use() {
    if (is_stopping())
        return fail(ErrorClass::link_lost, ECANCELED, "the pool is closed");
    if (replica_.state() == ReplicaState::paused)
        return fail(ErrorClass::link_lost, ECANCELED, "the replica is paused");
    return {};
}

Result<> CatchUp::pause() {
    RPMEM_TRY(require_not_failed());
    if (replica_.state() == ReplicaState::paused)
        return {};
    replica_.leave_to(ReplicaState::paused);
    log_.error(
        "{}: paused by an operator (rpmemctl pause); the program goes on without its replica until "
        "`rpmemctl resume`",
        terms_.name);
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return {};
}

Result<> CatchUp::resume() {
    RPMEM_TRY(require_not_failed());
    if (!replica_.change(ReplicaState::paused, ReplicaState::away))
        return {};
    log_.error("{}: resumed by an operator (rpmemctl resume)", terms_.name);
    const std::lock_guard lock(mutex_);
    was_resumed_ = true;
    changed_.notify_all();
    return {};
}

void CatchUp::limit_rate(std::uint64_t bytes_per_second) {
    log_.warning("{}: catching up has {} from now on (rpmemctl rate)", terms_.name,
                 bytes_per_second > 0 ? fmt::format("a maximum of {} bytes/s", bytes_per_second)
                                      : std::string("no maximum rate"));
    const std::lock_guard lock(mutex_);
    max_rate_ = bytes_per_second;
    changed_.notify_all();
}

// Bytes that were sent at another rate do not count. Otherwise a lower rate would first have to
// make up for them.
void CatchUp::restart_pacing(std::size_t sent) {
    paced_rate_ = max_rate_;
    paced_from_ = sent;
    paced_since_ = Clock::now();
}

// Waits until SENT bytes of this pass do not exceed the maximum rate. A join does not wait: its
// rest is small.
void CatchUp::keep_to_rate(std::size_t sent) {
    if (paced_rate_ != max_rate_)
        return restart_pacing(sent);
    if (paced_rate_ == 0 || replica_.state() == ReplicaState::joining)
        return;
    const std::chrono::duration<double> due(static_cast<double>(sent - paced_from_) /
                                            static_cast<double>(paced_rate_));
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, paced_since_ + std::chrono::duration_cast<Clock::duration>(due),
                        [this] {
                            return is_stopping_ || paced_rate_ != max_rate_ ||
                                   replica_.state() == ReplicaState::paused;
                        });
}

} // namespace rpmem::initiator
