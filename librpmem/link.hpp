// SPDX-License-Identifier: BSD-3-Clause
// The link of a pool to its copy on the target: one association at a time, and a new one after a
// loss. Link::become() changes the state:
//
//   from          | to            | when
//   connected     | reconnecting  | a call finds the association lost, and may make another one
//   connected     | failed        | a call finds it lost and may not: RPMEM_RECONNECT_TIMEOUT is 0,
//                 |               | the target cannot resume sessions, its medium has failed, or it
//                 |               | is alive and does not answer; or session after session was
//                 |               | lost before it acknowledged anything (CallBound)
//   reconnecting  | connected     | the next generation is open
//   reconnecting  | failed        | the target refused for good, or a call has spent its CallBound
//
// A failed link stays failed until the pool is opened again, so that every call reports the same.
#pragma once

#include "common/base/log.hpp"
#include "librpmem/association.hpp"
#include "librpmem/call_bound.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rpmem::initiator {

class LinkThread;

// The library's part that all pools share.
struct PoolServices {
    Log log{};
    LinkThread* heartbeats = nullptr; // null: none
};

class Link {
public:
    // TAKEOVER: of the session of FIRST, if it can be resumed.
    Link(const PoolArguments& arguments, const Settings& settings, PoolServices services,
         PoolCounters& counters, std::shared_ptr<Association> first,
         std::optional<transport::Secret> takeover);
    ~Link();
    // From now on the link sends heartbeats, if the target knows them.
    Result<> start();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Returns the association if it is not known to be lost. Otherwise waits until another one is
    // there: the first caller makes it. BOUND is the call's. When it is used up, the link fails, so
    // that every later call fails for the same reason. From any thread.
    Result<std::shared_ptr<Association>> association(CallBound& bound);
    // Of the first association, before there can be another one: see Association::keep().
    void keep() noexcept { seen_by_child_.load()->keep(); }
    // A lane has sent so many bytes again. From any thread.
    void count_replayed(std::size_t bytes);
    // From any thread.
    [[nodiscard]] Result<PoolSnapshot> statistics() const;
    // From now on calls try to reconnect for at most TIME: rpmem_close() has its own limit.
    void hurry(std::chrono::milliseconds time) { max_time_ = std::min(time, max_time_.load()); }
    // What a call may spend on lost sessions from now on.
    [[nodiscard]] CallTimes times();
    // RPMEM_RECONNECT_TIMEOUT or the limit of rpmem_close(), with its name, for messages.
    [[nodiscard]] std::string limit() const;
    // By the thread of the heartbeats, once a second.
    void beat() noexcept;
    // In a child made by fork(2).
    void release_in_child() { seen_by_child_.load()->release_in_child(); }

private:
    using Clock = std::chrono::steady_clock;
    using State = LinkState;

    void become(State next);
    void begin_counting();
    [[nodiscard]] bool may_reconnect(const Error& loss) const;
    [[nodiscard]] CallTimes times_locked() const;
    void end_by(Error error);
    void await_others(std::unique_lock<std::mutex>& lock, CallBound& bound);
    void reconnect(std::unique_lock<std::mutex>& lock, const Error& loss, CallBound& bound);
    Result<std::shared_ptr<Association>> try_or_give_up(Association& lost, const Error& loss,
                                                        CallBound& bound) noexcept;
    Result<std::shared_ptr<Association>> try_until_up(const Error& loss, CallBound& bound);
    Result<std::shared_ptr<Association>> try_once(std::chrono::milliseconds time, unsigned number);
    [[nodiscard]] std::string describe_tries(const CallBound& bound, const Error& last) const;
    void note_problem(const Error& why);
    void log_waiting();
    [[nodiscard]] std::string name() const;

    PoolArguments arguments_;
    Settings settings_;
    PoolServices services_;
    PoolCounters& counters_;           // their facts change with mutex_ locked
    LinkThread* heartbeats_ = nullptr; // that knows this link; null: none does
    std::optional<transport::Secret> takeover_;
    std::atomic<std::chrono::milliseconds> max_time_;
    std::uint64_t generation_ = 0; // of the last try; only whoever reconnects uses it
    unsigned lanes_;
    std::atomic<Association*> seen_by_child_; // as current_

    std::mutex mutex_; // the rest
    std::condition_variable changed_;
    State state_ = State::connected;
    std::shared_ptr<Association> current_;
    std::optional<Error> failure_; // of State::failed
    // Of the call that reconnects, for the log.
    Clock::time_point waiting_since_; // its first loss
    Clock::time_point logged_;        // the last line
    Error last_problem_{};
    std::vector<std::pair<ErrorClass, int>> logged_problems_; // kind and code
};

// One round of the heartbeats: see LinkThread.
void beat_all(std::span<Link* const> links, std::unique_lock<std::mutex>& lock) noexcept;

} // namespace rpmem::initiator
