// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/catch_up.hpp"

#include "common/base/quiet_thread.hpp"
#include "librpmem/connection/back_off.hpp"
#include "librpmem/replica/progress.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

namespace rpmem::initiator {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::digest_block;

// How often the statistics are told what the replica lacks. To count takes 1 ms for each 10 TiB.
constexpr std::chrono::seconds show_interval(1);

// The join begins when the rest takes no longer than this at the rate of the last pass. Calls may
// wait Replica::max_gate_time, and the record of the target takes its part of that.
constexpr double max_rest = 0.025; // seconds

// After so many passes that left no less than the pass before, calls are slowed down.
constexpr unsigned max_not_shrunk = 3;
constexpr microseconds min_call_pause(16);
constexpr microseconds max_call_pause(1000);

milliseconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

} // namespace

Result<> CatchUp::start() try {
    thread_ = start_without_signals([this] { run(); });
    return {};
} catch (const std::system_error& error) {
    return fail_errno(ErrorClass::resource_limit, error.code().value(),
                      "cannot start the thread that catches up (RPMEM_ON_LOSS=alone); does a limit "
                      "(ulimit -u) bound the threads?");
}

void CatchUp::leave(const Error& why, bool has_failed) {
    replica_.leave_to(has_failed ? ReplicaState::failed : ReplicaState::away);
    log_.error("{}: {}; the program goes on without its replica (RPMEM_ON_LOSS=alone){}",
               terms_.name, why.text,
               has_failed ? ", which must be repaired" : " and connects to it again meanwhile");
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

bool CatchUp::await_in_sync(milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time,
                             [this] { return replica_.state() == ReplicaState::in_sync; });
}

void CatchUp::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
        if (connection_)
            connection_->monitor().declare_lost(
                {ECANCELED, ErrorClass::link_lost, "the pool is closed"});
    }
    if (thread_.joinable())
        thread_.join();
}

bool CatchUp::is_stopping() {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
}

void CatchUp::run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        if (replica_.state() != ReplicaState::away) {
            changed_.wait(
                lock, [this] { return is_stopping_ || replica_.state() == ReplicaState::away; });
            pause_ = settings_.reconnect_delay;
            tries_ = 0;
            away_ = Clock::now();
            continue;
        }
        lock.unlock();
        show_behind();
        try_once();
        show_behind();
        lock.lock();
        if (replica_.state() != ReplicaState::away || is_stopping_)
            continue;
        changed_.wait_for(lock, with_jitter(pause_), [this] { return is_stopping_; });
        pause_ = std::min(2 * pause_, max_pause);
    }
}

// Without memory this attempt has failed.
void CatchUp::try_once() try {
    auto connection = link_.reach(++tries_);
    if (!connection)
        return handle_failure(connection.error());
    {
        const std::lock_guard lock(mutex_);
        connection_ = *connection;
    }
    Result<> done = is_stopping() ? Result<>() : catch_up(*connection);
    {
        const std::lock_guard lock(mutex_);
        connection_.reset();
        changed_.notify_all();
    }
    if (done)
        return;
    link_.drop_reached();
    replica_.slow_down({});
    // The session knows best why it was lost.
    if (const auto loss = (*connection)->monitor().reason(milliseconds(0)))
        done = Failure(*loss);
    if (!is_stopping())
        handle_failure(done.error());
} catch (const std::exception& exception) {
    const std::lock_guard lock(mutex_);
    connection_.reset();
    link_.drop_reached();
    replica_.leave_to(ReplicaState::away);
}

void CatchUp::handle_failure(const Error& error) {
    switch (Link::without_target(error)) {
    case Link::WithoutTarget::ends:
        link_.end(error);
        replica_.leave_to(ReplicaState::stale);
        return;
    case Link::WithoutTarget::goes_on_for_ever:
        return leave(error, true);
    case Link::WithoutTarget::goes_on:
        replica_.leave_to(ReplicaState::away);
    }
    if (Clock::now() - logged_ < progress_interval)
        return;
    logged_ = Clock::now();
    log_.error("{}: the replica has been away for {} s, and lacks {} MiB: {}", terms_.name,
               since(away_).count() / 1000, mebibytes_of(replica_.map().count()), error.text);
}

Result<> CatchUp::catch_up(const std::shared_ptr<Connection>& connection) {
    sent_ = 0;
    left_ = replica_.map().count();
    not_shrunk_ = 0;
    RPMEM_TRY(connection->session().set_replica_state(wire::ReplicaState::catching_up));
    replica_.change(ReplicaState::away, ReplicaState::catching_up);
    link_.show_catching_up();
    log_.warning("{}: the replica catches up after {} ms; it lacks {} MiB", terms_.name,
                 since(away_).count(), mebibytes_of(left_));
    RPMEM_ASSIGN(FrameLane* const lane,
                 connection->lanes().use_lane(terms_.lane, settings_.connect_timeout));
    while (true) {
        RPMEM_TRY(send_marked(*connection, *lane));
        adjust_pause(replica_.map().count());
        if (!is_little_left())
            continue;
        RPMEM_ASSIGN(const bool has_joined, join(connection, *lane));
        if (has_joined)
            return {};
        // The record may say that the replica is in sync.
        RPMEM_TRY(connection->session().set_replica_state(wire::ReplicaState::catching_up));
    }
}

// One pass: sends each marked block once.
Result<> CatchUp::send_marked(Connection& connection, FrameLane& lane) {
    const auto began = Clock::now();
    std::size_t sent = 0;
    BlockMap& map = replica_.map();
    for (std::size_t next = map.next(0); next < map.blocks(); next = map.next(next)) {
        if (is_stopping())
            return fail(ErrorClass::link_lost, ECANCELED, "the pool is closed");
        const std::size_t first = next;
        if (const int code = sender_.send_run(lane, map, first, next))
            return link_.lane_failure(connection, lane, code);
        if (sender_.failure())
            return Failure(*sender_.failure());
        sent += next - first;
        sent_ += next - first;
        keep_to_rate(sent * digest_block, began);
        report_progress();
    }
    const std::chrono::duration<double> took = Clock::now() - began;
    if (sent > 0)
        rate_ = static_cast<double>(sent * digest_block) / std::max(took.count(), 1e-6);
    return {};
}

Result<bool> CatchUp::join(const std::shared_ptr<Connection>& connection, FrameLane& lane) {
    const auto began = Clock::now();
    if (!replica_.close_gate(Replica::max_gate_time))
        return false;
    RPMEM_TRY(send_marked(*connection, lane));
    RPMEM_TRY(connection->session().set_replica_state(wire::ReplicaState::in_sync));
    const bool has_joined = link_.join(connection, [this] {
        return replica_.change(ReplicaState::joining, ReplicaState::in_sync);
    });
    if (!has_joined)
        return false;
    replica_.slow_down({});
    sender_.release();
    // At the level of the line that said that the program goes on without it.
    log_.error("{}: the replica is in sync again after {} ms; {} MiB were sent, and calls waited "
               "for at most {} ms",
               terms_.name, since(away_).count(), mebibytes_of(sent_), since(began).count());
    return true;
}

bool CatchUp::is_little_left() const {
    const auto left = static_cast<double>(replica_.map().count() * digest_block);
    const auto cap = static_cast<double>(settings_.catch_up_rate.value_or(0));
    const double rate = cap > 0 ? std::min(cap, rate_) : rate_;
    return left <= std::max(rate * max_rest, static_cast<double>(digest_block));
}

// LEFT is the number of blocks that were marked during the last pass.
void CatchUp::adjust_pause(std::size_t left) {
    not_shrunk_ = left < left_ ? 0 : not_shrunk_ + 1;
    left_ = left;
    if (not_shrunk_ < max_not_shrunk)
        return;
    const microseconds pause = std::max(min_call_pause, 2 * replica_.pause());
    replica_.slow_down(std::min(pause, max_call_pause));
}

// Waits until SENT bytes since BEGAN do not exceed RPMEM_CATCH_UP_RATE. A join does not wait: its
// rest is small.
void CatchUp::keep_to_rate(std::size_t sent, Clock::time_point began) {
    if (!settings_.catch_up_rate || replica_.state() == ReplicaState::joining)
        return;
    const std::chrono::duration<double> due(static_cast<double>(sent) /
                                            static_cast<double>(*settings_.catch_up_rate));
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, began + std::chrono::duration_cast<Clock::duration>(due),
                        [this] { return is_stopping_; });
}

void CatchUp::log_closed_alone() const {
    log_.error("{}: the pool is closed without its replica, which lacks {} MiB; the next session "
               "compares both before it writes",
               terms_.name, mebibytes_of(replica_.map().count()));
}

// A pool that has joined meanwhile lacks nothing.
void CatchUp::show_behind() {
    shown_ = Clock::now();
    if (replica_.lacks_calls())
        link_.show_behind(replica_.map().count() * digest_block);
}

void CatchUp::report_progress() {
    if (Clock::now() - shown_ >= show_interval)
        show_behind();
    if (Clock::now() - logged_ < progress_interval)
        return;
    logged_ = Clock::now();
    log_.warning("{}: the replica catches up: {} MiB were sent, {} MiB are left{}", terms_.name,
                 mebibytes_of(sent_), mebibytes_of(replica_.map().count()),
                 replica_.pause().count() > 0
                     ? fmt::format("; the program writes faster than they are sent, so its calls "
                                   "are slowed down by {} us",
                                   replica_.pause().count())
                     : std::string());
}

} // namespace rpmem::initiator
