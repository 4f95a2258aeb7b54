// SPDX-License-Identifier: BSD-3-Clause
// The link of a pool to its replica: one connection at a time, and a new one after a loss.
// link_losses.cpp decides what a failure means. Link::set_state() changes the state:
//
//   from          | to            | when
//   connected     | reconnecting  | a call finds the connection lost, and may replace it
//   connected     | failed        | a call finds it lost, and may not replace it: reconnecting is
//                 |               | off (RPMEM_RECONNECT_TIMEOUT=0), the target cannot resume
//                 |               | sessions, its medium has failed, it violated the protocol or is
//                 |               | alive without answering, or the call has used up its CallBound
//   reconnecting  | connected     | the connection of the next generation is open, or only
//                 |               | await_in_sync() has timed out, and the connection stays lost
//   reconnecting  | failed        | the error is permanent, or a call has used up its CallBound
//   connected,    | away          | instead of failed, after go_on_alone(), unless the error is
//   reconnecting  |               | final (see without_target()); each call fails with ENOTCONN
//   away          | catching_up   | the thread that catches up has reached the target
//   catching_up   | away          | that session is lost
//   catching_up   | connected     | join()
//   away          | failed        | the error of an attempt is final
//   any but       | paused        | an operator has paused it, after go_on_alone()
//   failed        |               |
//   paused        | away          | an operator has resumed it
//
// A failed link stays failed, so that every later call reports the same error.
#pragma once

#include "common/base/log.hpp"
#include "librpmem/connection/call_bound.hpp"
#include "librpmem/connection/connection.hpp"
#include "librpmem/connection/replica_report.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rpmem::initiator {

class ControlServer;
class LinkThread;
struct ControlRequest;

// What all pools of the process share.
struct PoolServices {
    Log log{};
    LinkThread* heartbeats = nullptr; // null if no heartbeats are sent
    ControlServer* control = nullptr; // null if nobody can steer the pools
};

class Link {
public:
    // TAKEOVER is the takeover key of FIRST, if its session can be resumed.
    Link(const PoolArguments& arguments, const Settings& settings, PoolServices services,
         PoolCounters& counters, std::shared_ptr<Connection> first,
         std::optional<transport::Secret> takeover);
    ~Link();
    // Starts heartbeats, if the target supports them.
    Result<> start();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Returns the connection if it is not known to be lost. Otherwise the first caller reconnects,
    // and the others wait. When BOUND, the bound of the call, is used up, the link fails, and every
    // later call fails with the same error. Thread-safe.
    Result<std::shared_ptr<Connection>> connection(CallBound& bound);
    // Returns lane INDEX of CONNECTION. Connects it first if necessary. Declares CONNECTION lost if
    // that fails and another connection may help. RECOVERS: the lane has lost an earlier
    // connection.
    Result<FrameLane*> use_lane(Connection& connection, unsigned index, bool recovers,
                                CallBound& bound);
    // Declares CONNECTION lost because its LANE has returned CODE. Returns an error if the call
    // must fail with it. Otherwise connection() returns another connection, or reports the loss.
    Result<> lane_failed(Connection& connection, const FrameLane& lane, int code,
                         const CallBound& bound);
    // Like lane_failed(), because a request has failed with ERROR. Do not call it if the target has
    // refused the request, because then the connection is not lost.
    Result<> lose(Connection& connection, Error error, const CallBound& bound);
    // Calls Connection::commit() of the current connection. No other call may be reconnecting.
    void commit() noexcept { seen_by_child_.load()->commit(); }
    // Counts BYTES that a lane has replayed. Thread-safe.
    void count_replayed(std::size_t bytes);
    // Fails with ENOTSUP if the counters have no file to read them from. Thread-safe.
    [[nodiscard]] Result<PoolSnapshot> statistics() const;
    // What the pool does when the program goes on without the target. The functions are called
    // under the mutex of the link.
    struct Alone {
        // A call has given up, for this reason. HAS_FAILED: the target is not tried again.
        std::function<void(const Error& why, bool has_failed)> leave;
        // An operator steers the pool. Fail if the replica has failed.
        std::function<Result<>()> pause;
        std::function<Result<>()> resume;
        std::function<void(std::uint64_t bytes_per_second)> limit_rate; // 0: no limit
    };
    // From now on the program goes on when a call gives up on a lost session.
    void go_on_alone(Alone alone);
    // Ends the session as if it were lost, so that the replica is compared in another one. Call it
    // after go_on_alone(). Fails like connection().
    [[nodiscard]] Result<> leave_session(CallBound& bound);
    // Carries out the request of an operator, without waiting. Fails with EOPNOTSUPP if this pool
    // does not go on alone, and with the error of the pool if it has failed.
    [[nodiscard]] Result<> steer(const ControlRequest& request);
    // rpmem_close() begins: steer() fails from now on, so that nothing else ends the session.
    void refuse_steering();
    // Whether NAME is the name of the pool in its statistics.
    [[nodiscard]] bool is_named(std::string_view name);
    // Stores in the statistics where requests for steer() are received, or why they are not.
    void show_control(const Result<std::string>& socket);
    // What an error means for a program that can go on without the target. goes_on: it goes on, and
    // the target is tried again. goes_on_for_ever: it goes on, and the target is not tried again.
    // ends: calls fail.
    enum class WithoutTarget { goes_on, goes_on_for_ever, ends };
    [[nodiscard]] static WithoutTarget without_target(const Error& error);
    // The thread that catches up calls the next functions while the link is away. reach() makes
    // attempt NUMBER to open a session, which gets heartbeats until join() or drop_reached().
    // lane_failure() returns the error of a lane that has returned CODE. end() makes the link fail
    // with ERROR.
    struct Reached {
        std::shared_ptr<Connection> connection;
        bool are_parts_changed; // after the last session of this link had ended
    };
    Result<Reached> reach(unsigned number);
    void show_catching_up();
    struct CatchUpFigures {
        std::uint64_t behind_bytes = 0;
        std::uint64_t rate = 0;   // bytes per second
        bool is_outpaced = false; // the program writes as fast
    };
    void show_figures(const CatchUpFigures& figures);
    [[nodiscard]] Failure lane_failure(Connection& connection, const FrameLane& lane, int code);
    void drop_reached();
    // Ends the session that steer() has left. That may wait for a request of another thread.
    void cut_paused();
    // After join(): stores in the record of the target that it is in sync. Returns false if the
    // session is lost, and true if it is stored, or the link is away again or has failed. Fails if
    // the target refuses it, perhaps for a moment.
    [[nodiscard]] Result<bool> record_in_sync();
    void end(const Error& error);
    // Records that the last attempt of that thread has failed with ERROR. IS_FINAL: it was the
    // last.
    void note_attempt(const Error& error, bool is_final);
    // Makes the session the current one if COMMIT returns true. COMMIT, which changes the state of
    // the replica, is called under the mutex of the link, so calls see both changes or none.
    // Returns whether the session is the current one.
    bool join(const std::shared_ptr<Connection>& connection, const std::function<bool()>& commit);

    // Returns the state of the replica, its reason and since when. Thread-safe, like the next two.
    [[nodiscard]] ReplicaReport replica_report();
    // Waits until the replica is in sync, and until IS_EQUAL returns true while it is connected.
    // Fails with ETIMEDOUT after TIME, and at once if the link, the replica or IS_EQUAL has failed.
    // Replaces a lost connection that no other call replaces, but does not give up a link because
    // TIME is over. IS_EQUAL is called under the mutex of the link.
    using IsEqual = std::function<Result<bool>()>;
    [[nodiscard]] Result<> await_in_sync(std::chrono::milliseconds time, const IsEqual& is_equal);
    // Call it when IS_EQUAL may return another value.
    void wake_waits();

    // Reduces the time for reconnecting to TIME. rpmem_close() has a shorter limit of its own.
    void limit_reconnecting(std::chrono::milliseconds time) {
        max_time_ = std::min(time, max_time_.load());
    }
    // Sends a heartbeat, and logs how long calls have waited for a new session. LinkThread calls it
    // once a second.
    void beat() noexcept;
    // Call it in a child made by fork(2). It does not lock mutex_.
    void release_in_child() {
        seen_by_child_.load()->release_in_child();
        if (Connection* const reached = reached_seen_by_child_.load())
            reached->release_in_child();
    }

private:
    using Clock = std::chrono::steady_clock;
    using State = LinkState;

    void set_state(State next);
    // Whether the replica is in sync, see link_sync.cpp. Callers hold mutex_.
    [[nodiscard]] SyncState sync_state() const;
    void note_sync_state();
    [[nodiscard]] std::optional<Error> unnoticed_loss() const;
    [[nodiscard]] std::optional<Error> why_not_in_sync() const;
    void look_for_loss(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Result<bool> is_in_sync(const IsEqual& is_equal);
    void replace_lost(std::unique_lock<std::mutex>& lock, Clock::time_point end);
    [[nodiscard]] static std::uint64_t now();
    void begin_counting();
    [[nodiscard]] static bool may_replace(const Connection& connection, const Error& loss);
    // Whether calls wait until the target is back: RPMEM_ON_LOSS=wait, before limit_reconnecting().
    [[nodiscard]] bool waits_without_limit() const;
    // Returns how long a call may spend on lost sessions.
    [[nodiscard]] CallTimes times();
    [[nodiscard]] CallTimes times_locked() const;
    // Returns the limit in force and its name, for messages: RPMEM_RECONNECT_TIMEOUT or the limit
    // of rpmem_close().
    [[nodiscard]] std::string limit() const;
    [[nodiscard]] bool is_away() const {
        return state_ == State::away || state_ == State::catching_up || state_ == State::paused;
    }
    void set_failed(Error error);
    void give_up(Error error);
    // Whether go_on_alone() was called. Locks mutex_.
    [[nodiscard]] bool goes_on_alone();
    [[nodiscard]] Result<> pause();
    [[nodiscard]] Result<> resume();
    // Waits for up to TIME. Returns true as soon as another call has given up on LOST. Since then
    // the link may have had another connection, and lost it, too.
    [[nodiscard]] bool is_given_up_within(Clock::duration time, const Connection& lost);
    void await_others(std::unique_lock<std::mutex>& lock, CallBound& bound);
    void reconnect(std::unique_lock<std::mutex>& lock, const Error& loss, CallBound& bound);
    Result<std::shared_ptr<Connection>> try_or_give_up(Connection& lost, const Error& loss,
                                                       CallBound& bound) noexcept;
    Result<std::shared_ptr<Connection>> try_until_up(const Connection& lost, const Error& loss,
                                                     CallBound& bound);
    [[nodiscard]] Result<> compare_claims(const Connection& next) const;
    Result<std::shared_ptr<Connection>> try_once(std::chrono::milliseconds time, unsigned number);
    [[nodiscard]] std::string describe_tries(const CallBound& bound, const Error& last) const;
    void note_login();
    [[nodiscard]] Result<> note_open(Connection& connection);
    void note_contact();
    void note_problem(const Error& why) noexcept;
    void log_waiting();
    [[nodiscard]] std::string name() const;

    PoolArguments arguments_;
    Settings settings_;
    PoolServices services_;
    PoolCounters& counters_;           // mutex_ guards their facts
    LinkThread* heartbeats_ = nullptr; // the thread that start() has added this link to, or null
    std::optional<transport::Secret> takeover_;
    std::atomic<std::chrono::milliseconds> max_time_;
    std::atomic<std::uint64_t> generation_ = 0; // of the last attempt
    unsigned lanes_;
    std::optional<wire::PoolClaim> claim_;   // the one that the first session has found
    std::atomic<Connection*> seen_by_child_; // equals current_; a child must not lock mutex_
    std::atomic<Connection*> reached_seen_by_child_ = nullptr; // equals reached_

    std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    State state_ = State::connected;
    std::shared_ptr<Connection> current_;
    std::optional<Error> failure_;        // the reason of State::failed, away and paused
    std::optional<Alone> alone_;          // nothing before go_on_alone()
    bool is_closing_ = false;             // see refuse_steering()
    bool must_cut_ = false;               // see cut_paused()
    std::shared_ptr<Connection> reached_; // the session that catches up
    bool are_parts_changed_ = false;      // since the last contact, see note_open()
    Clock::time_point logged_in_;         // the last login
    Clock::time_point last_contact_;      // when a daemon of this link last had the pool
    bool has_failed_ = false;             // while away: the target is not tried again
    SyncState sync_state_ = SyncState::in_sync;
    std::uint64_t sync_since_ = 0; // nanoseconds since 1970
    Error last_problem_{};         // why the target is not back yet
    // For the log: the call that reconnects.
    Clock::time_point waiting_since_;                         // its first loss
    Clock::time_point logged_;                                // its last log line
    std::vector<std::pair<ErrorClass, int>> logged_problems_; // kind and code
};

// A LinkThread::Round that calls Link::beat() for each link.
void beat_all(std::span<Link* const> links, std::unique_lock<std::mutex>& lock) noexcept;
// Like beat_all(), and then serves the requests that CONTROL has received. The last round of the
// thread stops CONTROL.
void beat_and_serve(std::span<Link* const> links, std::unique_lock<std::mutex>& lock,
                    ControlServer& control) noexcept;

} // namespace rpmem::initiator
