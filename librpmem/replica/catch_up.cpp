// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/catch_up.hpp"

#include "common/base/quiet_thread.hpp"
#include "librpmem/connection/back_off.hpp"
#include "librpmem/replica/compare_blocks.hpp"
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

// The join begins when the rest takes no longer than this at the rate of the last pass. Calls may
// wait Replica::gate_time().
constexpr double max_rest = 0.025; // seconds

// After so many passes that left no less than the pass before, calls are slowed down.
constexpr unsigned max_not_shrunk = 3;

// The target may answer ESTALE for a moment. After so many consecutive ones it has a newer owner.
constexpr unsigned min_stale_tries = 3;

// The gate time doubles with each attempt to join, up to this.
constexpr milliseconds max_gate_time(1000);

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

void CatchUp::set_source(SecondMapping source) {
    const std::lock_guard lock(mutex_);
    source_ = std::move(source);
    sender_ = {source_.memory(), terms_.first_writable};
}

void CatchUp::leave(const Error& why, bool has_failed) {
    replica_.leave_to(has_failed ? ReplicaState::failed : ReplicaState::away);
    log_.error("{}: {}; the program goes on without its replica (RPMEM_ON_LOSS=alone){}",
               terms_.name, why.text,
               has_failed ? ". It does not try again before the program is started again"
                          : ", and keeps trying to reconnect");
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

bool CatchUp::await_in_sync(milliseconds time) {
    std::unique_lock lock(mutex_);
    const auto is_decided = [this] {
        const ReplicaState state = replica_.state();
        return state == ReplicaState::in_sync || state == ReplicaState::paused ||
               state == ReplicaState::failed;
    };
    return changed_.wait_for(lock, time, is_decided) && replica_.state() == ReplicaState::in_sync;
}

void CatchUp::stop() noexcept {
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
    if (owes_record_)
        store_record();
}

// Without memory it is tried again, or the next session compares.
void CatchUp::store_record() noexcept try {
    const auto stored = link_.record_in_sync();
    owes_record_ = !stored || !*stored;
    if (!owes_record_)
        link_.wake_waits();
    if (stored || Clock::now() - logged_ < progress_interval)
        return;
    logged_ = Clock::now();
    log_.error("{}: the replica is in sync, and the target cannot record that: {}", terms_.name,
               stored.error().text);
} catch (const std::exception&) {
}

bool CatchUp::is_stopping() {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
}

void CatchUp::run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        if (replica_.state() == ReplicaState::away) {
            lock.unlock();
            link_.cut_paused();
            show_figures();
            try_once();
            show_figures();
            lock.lock();
            if (replica_.state() == ReplicaState::away)
                wait(lock, with_jitter(std::exchange(pause_, std::min(2 * pause_, max_pause))));
            continue;
        }
        if (owes_record_) {
            lock.unlock();
            store_record();
            lock.lock();
            if (owes_record_)
                wait(lock, show_interval);
            continue;
        }
        const ReplicaState state = replica_.state();
        if (state == ReplicaState::paused || state == ReplicaState::failed) {
            lock.unlock();
            link_.cut_paused();
            show_figures();
            lock.lock();
            if (replica_.state() == state)
                wait(lock, state == ReplicaState::paused ? show_interval : progress_interval);
            continue;
        }
        // No limit: the thread has nothing to do before the next absence.
        changed_.wait(lock, [this] { return is_stopping_ || replica_.lacks_calls(); });
        begin_absence();
    }
}

void CatchUp::wait(std::unique_lock<std::mutex>& lock, Clock::duration time) {
    changed_.wait_for(lock, time,
                      [this] { return is_stopping_ || std::exchange(was_resumed_, false); });
}

void CatchUp::begin_absence() {
    pause_ = settings_.reconnect_delay;
    tries_ = 0;
    stale_tries_ = 0;
    gate_time_ = Replica::min_gate_time;
    away_ = logged_ = Clock::now();
}

// Without memory this attempt has failed.
void CatchUp::try_once() try {
    auto reached = link_.reach(++tries_);
    if (!reached)
        return handle_failure(reached.error());
    stale_tries_ = 0;
    const auto connection = std::move(reached->connection);
    if (reached->are_parts_changed)
        distrust_map("its parts were changed while it was away, perhaps restored from a backup");
    use(connection);
    Result<> done = is_stopping() ? Result<>() : catch_up(connection);
    use(nullptr);
    if (done)
        return;
    link_.drop_reached();
    // The session has the cause; DONE may have only its consequence.
    if (const auto loss = connection->monitor().reason(milliseconds(0)))
        done = Failure(*loss);
    if (!is_stopping())
        handle_failure(done.error());
} catch (const std::exception& exception) {
    use(nullptr);
    link_.drop_reached();
    leave_session();
}

// stop() ends CONNECTION.
void CatchUp::use(std::shared_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    connection_ = std::move(connection);
    changed_.notify_all();
}

// A replica that has joined meanwhile is left as it is.
void CatchUp::leave_session() {
    replica_.slow_down({});
    static_cast<void>(replica_.change(ReplicaState::joining, ReplicaState::away) ||
                      replica_.change(ReplicaState::catching_up, ReplicaState::away));
}

void CatchUp::handle_failure(const Error& error) {
    leave_session();
    if (replica_.state() == ReplicaState::paused)
        return;
    // The target also answers ESTALE while another initiator briefly has the pool and is then
    // refused, and to a call of this program that still reconnects. So one such answer is not
    // final.
    stale_tries_ = error.code == ESTALE ? stale_tries_ + 1 : 0;
    const auto next = Link::without_target(error);
    link_.note_attempt(error, next == Link::WithoutTarget::goes_on_for_ever);
    if (next == Link::WithoutTarget::ends &&
        (error.code != ESTALE || stale_tries_ >= min_stale_tries)) {
        link_.end(error);
        return replica_.leave_to(ReplicaState::stale);
    }
    if (next == Link::WithoutTarget::goes_on_for_ever)
        return leave(error, true);
    if (Clock::now() - logged_ < progress_interval)
        return;
    logged_ = Clock::now();
    log_.error("{}: the replica has been away for {} s, and lacks {}: {}", terms_.name,
               since(away_).count() / 1000, amount(replica_.map().count()), error.text);
}

Result<> CatchUp::catch_up(const std::shared_ptr<Connection>& connection) {
    sent_ = 0;
    left_ = replica_.map().count();
    not_shrunk_ = 0;
    meter_.start(Clock::now());
    RPMEM_TRY(require_in_use());
    RPMEM_TRY(connection->session().set_replica_state(wire::ReplicaState::catching_up));
    replica_.change(ReplicaState::away, ReplicaState::catching_up);
    link_.show_catching_up();
    log_.warning("{}: the replica is catching up after {} ms; it lacks {}", terms_.name,
                 since(away_).count(), amount(left_));
    RPMEM_ASSIGN(FrameLane* const lane,
                 connection->lanes().use_lane(terms_.lane, settings_.connect_timeout));
    if (must_compare_)
        RPMEM_TRY(compare(*connection, *lane));
    // No limit: a program that always writes faster than RPMEM_CATCH_UP_RATE never joins. The loop
    // ends with a join, the session or the pool.
    while (!is_stopping()) {
        RPMEM_TRY(send_marked(*connection, *lane));
        adjust_pause(replica_.map().count());
        if (!is_little_left())
            continue;
        const auto send_attributes = [&](const rpmem_pool_attr& attributes) {
            return connection->session().set_attributes({attributes});
        };
        RPMEM_ASSIGN(const bool has_joined,
                     terms_.kept->join(send_attributes, [&] { return join(connection, *lane); }));
        if (has_joined)
            return {};
        if (replica_.state() != ReplicaState::catching_up)
            return fail(ErrorClass::link_lost, ECANCELED, "the replica is no longer catching up");
    }
    return fail(ErrorClass::link_lost, ECANCELED, "the pool is closed");
}

void CatchUp::distrust_map(const char* why) {
    log_.error("{}: all of the replica will be compared, because {}", terms_.name, why);
    must_compare_ = true;
}

// Marks each block that differs. Block 0 is always sent: its first page is the header, which the
// target keeps, or it is hidden, so its digest differs.
Result<> CatchUp::compare(Connection& connection, FrameLane& lane) {
    BlockMap& map = replica_.map();
    const LocalData data = look_for_data(source_.memory(), settings_.connect_timeout);
    map.mark(0, 1);
    bool overwrites = false; // the proof of direction allows that
    for (std::size_t compared = 1; compared < map.blocks();) {
        if (is_stopping())
            return fail(ErrorClass::link_lost, ECANCELED, "the pool is closed");
        if (const int code =
                compare_next(lane, sender_, {source_.memory(), data}, compared, map, overwrites))
            return link_.lane_failure(connection, lane, code);
        if (sender_.failure())
            return Failure(*sender_.failure());
        report_progress("compared", compared);
    }
    must_compare_ = false;
    log_.warning("{}: all of the replica is compared; it lacks {}", terms_.name,
                 amount(map.count()));
    return {};
}

// One pass: sends each marked block once.
Result<> CatchUp::send_marked(Connection& connection, FrameLane& lane) {
    const auto began = Clock::now();
    std::size_t sent = 0;
    restart_pacing(sent);
    BlockMap& map = replica_.map();
    BlockPass pass(sender_, lane, map);
    std::size_t next = 0;
    for (bool is_over = false; !is_over;) {
        RPMEM_TRY(require_in_use());
        const std::size_t before = sent;
        next = map.next(next);
        is_over = next == map.blocks();
        if (const int code = is_over ? pass.finish(sent) : pass.send_next(next, sent))
            return link_.lane_failure(connection, lane, code);
        if (sender_.failure())
            return Failure(*sender_.failure());
        sent_ += sent - before;
        meter_.count((sent - before) * digest_block, Clock::now());
        keep_to_rate(sent * digest_block);
        report_progress("sent", sent_);
    }
    const std::chrono::duration<double> took = Clock::now() - began;
    if (sent > 0)
        rate_ = static_cast<double>(sent * digest_block) / std::max(took.count(), 1e-6);
    return {};
}

// The record of the target follows after the gate has opened, because it takes longer. Until then
// it says that the replica is catching up, which is safe.
Result<bool> CatchUp::join(const std::shared_ptr<Connection>& connection, FrameLane& lane) {
    replica_.set_gate_time(gate_time_);
    gate_time_ = std::min(2 * gate_time_, max_gate_time);
    const auto began = Clock::now();
    if (!replica_.close_gate(replica_.gate_time()))
        return false;
    RPMEM_TRY(send_marked(*connection, lane));
    if (const int code = sender_.send_first_page(lane))
        return link_.lane_failure(*connection, lane, code);
    if (sender_.failure())
        return Failure(*sender_.failure());
    if (!link_.join(connection, [this] {
            return replica_.change(ReplicaState::joining, ReplicaState::in_sync);
        })) {
        if (terms_.first_writable == 0) // hides the first page again
            RPMEM_TRY(connection->session().set_replica_state(wire::ReplicaState::catching_up));
        return false;
    }
    const auto waited = since(began);
    use(nullptr); // stop() must not end a session that calls use
    replica_.slow_down({});
    sender_.release();
    owes_record_ = true;
    store_record();
    // The same level as the line that reported the beginning of the absence.
    log_.error("{}: the replica is in sync again, after {} ms; {} were sent, and calls waited for "
               "at most {} ms",
               terms_.name, since(away_).count(), amount(sent_), waited.count());
    return true;
}

bool CatchUp::is_little_left() const {
    const auto left = static_cast<double>(replica_.map().count() * digest_block);
    const auto cap = static_cast<double>(max_rate_.load());
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

} // namespace rpmem::initiator
