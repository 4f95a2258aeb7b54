// SPDX-License-Identifier: BSD-3-Clause
// Decides how a call of the program may end, and when, after the faults that have happened. A call
// that fails without a cause, waits longer than promised, or succeeds on a pool that another
// initiator had, is a finding.
#pragma once

#include "tests/simulation/sessions/call_watch.hpp"
#include "tests/simulation/sessions/disk.hpp"
#include "tests/simulation/sessions/plan.hpp"

#include <algorithm>
#include <string>

namespace rpmem::simulation::sessions {

// The faults that have happened.
struct Troubles {
    Time last = 0;              // when the last fault happened or ends
    Time sum = 0;               // sum of the durations of faults
    Time without_answer = 0;    // how long a target that is alive may not answer
    bool has_silence = false;   // connections are half open
    bool another_asked = false; // another initiator requested the pool and may have it
    bool is_refused = false;    // state-dir cannot be used
    bool is_restored = false;   // the part became an older one
    // Since the present program began.
    Time taken_at = never;    // when another initiator had the pool
    Time restored_at = never; // when the part became an older one
    bool disk_was_full = false;
};

// The end of one call. ERROR is null if it succeeded.
struct CallEnd {
    std::string_view name;
    WatchedCall call;
    const Error* error;
    bool needs_target; // it cannot succeed without the target
    // Of a program with RPMEM_ON_LOSS=alone.
    bool may_leave = false;   // it may go on without the target
    bool could_leave = false; // likewise when the call began
    bool was_away = false;    // it has gone on without the target during the call
    Time joined_at = 0;       // when its replica was in sync again, the last time
};

class Verdict {
public:
    Verdict(World& world, const Plan& plan, const Disk& disk)
        : world_(world), plan_(plan), disk_(disk) {}

    Troubles troubles;

    void program_begins() { troubles.taken_at = troubles.restored_at = never; }
    // Returns why the call may not end like this, or an empty string if it may.
    [[nodiscard]] std::string judge(const CallEnd& end) {
        opened_at_ = std::min(opened_at_, end.call.began);
        if (std::string why = judge_time(end); !why.empty())
            return why;
        return end.error ? judge_error(end) : judge_success(end);
    }
    // If calls gave up together, one of them must have tried for the whole reconnect timeout.
    // Returns an empty string if it has.
    [[nodiscard]] std::string judge_all() const {
        if (!max_try_ || *max_try_ >= time_of(plan_.reconnect_timeout) - second)
            return {};
        return fmt::format("calls gave up after {} ms", *max_try_ / millisecond);
    }

private:
    static constexpr Time max_close = 4 * second; // time in which rpmem_close() starts attempts
    static constexpr unsigned max_compared = 4;   // sessions of a comparison
    static constexpr Time min_try = 3 * second;
    static constexpr Time heartbeat = second; // interval of checks for a silent peer
    static constexpr Time explanation =
        3 * second;                       // wait for the cause if no reconnect is possible
    static constexpr Time slack = second; // allowance for the ends of logins

    [[nodiscard]] std::string judge_time(const CallEnd& end) const {
        for (const Silence& silence : end.call.silences)
            if (std::string why = judge_silence(silence, end); !why.empty())
                return why;
        const Time time = world_.now() - end.call.began;
        return is_noticed_soon() && time > soon() ? fmt::format("took {} ms", time / millisecond)
                                                  : "";
    }
    // Promise 5 of docs/reliability.md.
    [[nodiscard]] std::string judge_silence(const Silence& silence, const CallEnd& end) const {
        const bool closes = is_close(end);
        const Time all = time_of(plan_.reconnect_timeout);
        const Time reconnecting = closes ? std::min(all, max_close) : all;
        const Time one_try =
            all == 0 ? explanation : std::max({reconnecting / 3, min_try, 2 * silence.took});
        const Time latest = silence.since + noticing() + silence.stopped;
        Time began = std::min(silence.noticed.value_or(latest), latest);
        // The time starts when the call has looked for the reason of the loss.
        if (silence.stopped > 0 && silence.resumed < began + silence.stopped + explanation)
            began = std::max(began, silence.resumed);
        Time bound = std::max(began + reconnecting, silence.resumed) + one_try + slack +
                     (closes && end.may_leave ? end_of_thread() : 0);
        // The thread that catches up may have a request to a silent target, for which calls wait.
        if (end.may_leave)
            bound += noticing();
        // The first calls that write wait until one of them has compared the replica. It may use
        // several sessions, in each of which it gets further.
        if (plan_.alone.is_on && !end.could_leave)
            bound += max_compared * (noticing() + reconnecting + one_try);
        // A call that waits for a join sends in that session, which may be lost, too.
        if (end.was_away && end.joined_at > silence.since)
            bound = std::max(bound, end.joined_at + noticing() + one_try + slack);
        if (silence.until <= bound)
            return {};
        return fmt::format("took {} ms without a newly acknowledged range, {} more than it may",
                           (silence.until - silence.since) / millisecond,
                           (silence.until - bound) / millisecond);
    }
    // rpmem_close() of a program that goes on alone waits until the replica is back, then for a
    // login of the thread that catches up, and for the answer to its request.
    [[nodiscard]] Time end_of_thread() const {
        return max_close + std::max(time_of(plan_.reconnect_timeout) / 3, min_try) + noticing();
    }
    // A silent peer is detected by missing heartbeats or by the kernel. A peer that is alive may
    // let a call wait for the operation timeout.
    [[nodiscard]] Time noticing() const {
        const Time peer = time_of(plan_.peer_timeout) * 5 / 4;
        return peer + heartbeat +
               std::min(time_of(plan_.operation_timeout), troubles.without_answer);
    }
    [[nodiscard]] std::string judge_success(const CallEnd& end) const {
        if (!end.needs_target || end.was_away)
            return {};
        if (end.call.began > troubles.taken_at)
            return "succeeded, though another initiator has had the pool since";
        if (end.call.began > troubles.restored_at)
            return "succeeded on an older backup of the part";
        return {};
    }
    [[nodiscard]] std::string judge_error(const CallEnd& end) {
        const Time now = world_.now();
        const Time reconnecting = time_of(plan_.reconnect_timeout);
        const Time operation = time_of(plan_.operation_timeout);
        if (troubles.last == 0)
            return "failed, and nothing was wrong";
        if (end.may_leave)
            return judge_error_alone(end);
        if (disk_.has_failed() || reconnecting == 0 || troubles.another_asked ||
            troubles.is_restored || troubles.disk_was_full)
            return {};
        if (troubles.is_refused && end.error->code == EACCES)
            return {};
        if (end.error->code == ETIMEDOUT) {
            max_try_ = never; // the pool is lost for all calls, and none tries to reconnect
            return may_time_out() ? "" : "timed out, without a cause";
        }
        if (end.error->code != ECONNRESET)
            return fmt::format("failed with {}", strerror(end.error->code));
        if (!is_close(end))
            max_try_ = std::max(max_try_.value_or(0), now - end.call.began);
        // After the last fault, an attempt must succeed within this time. The first attempt may
        // have begun during the fault.
        const Time last_fault = std::max(troubles.last, disk_.slow_until());
        const Time one_try = std::max(reconnecting / 3, min_try);
        const Time settles =
            std::min(2 * (time_of(plan_.connect_timeout) + operation), 2 * one_try) +
            time_of(plan_.target_peer_timeout) + 8 * second + wait_for_lane(*end.error);
        if (is_close(end) || now < last_fault + settles)
            return {};
        return fmt::format("gave up {} ms behind the last fault", (now - last_fault) / millisecond);
    }
    // A daemon whose initiator falls silent before the first lane keeps the pool for
    // accept-timeout. A later session finds and ends it by its file in state-dir, unless state-dir
    // has lost that.
    [[nodiscard]] Time wait_for_lane(const Error& error) const {
        const bool may_lose_files =
            std::ranges::any_of(plan_.faults, [](const PlannedFault& planned) {
                return planned.fault == Fault::lost_state || planned.fault == Fault::no_state;
            });
        const bool is_in_use = error.text.find("the pool is in use") != std::string::npos;
        return troubles.has_silence && may_lose_files && is_in_use ? time_of(plan_.accept_timeout)
                                                                   : 0;
    }
    // Only another owner of the pool ends a program that goes on alone.
    [[nodiscard]] std::string judge_error_alone(const CallEnd& end) const {
        if (end.error->code == ENOTCONN && end.name == "rpmem_read" && end.was_away)
            return {};
        if (troubles.another_asked || troubles.is_restored)
            return {};
        return fmt::format("failed with {}, though the program may go on alone",
                           strerror(end.error->code));
    }
    // A target that is alive may not answer for the duration of the faults. If a lane has nothing
    // in flight, keepalive may detect a silent connection later than the operation timeout.
    [[nodiscard]] bool may_time_out() const {
        const Time operation = time_of(plan_.operation_timeout);
        return troubles.sum + second >= operation ||
               (troubles.has_silence && operation < 2 * time_of(plan_.peer_timeout));
    }
    // Returns whether the only fault was the permanent loss of a peer or of connections.
    [[nodiscard]] bool is_noticed_soon() const {
        constexpr std::array<Fault, 7> at_once{
            Fault::cut_lanes, Fault::cut_login,   Fault::half_open, Fault::kill,
            Fault::terminate, Fault::stop_target, Fault::clock_jump};
        return plan_.faults.size() == 1 &&
               std::ranges::find(at_once, plan_.faults[0].fault) != at_once.end() &&
               plan_.faults[0].at > opened_at_;
    }
    [[nodiscard]] Time soon() const { return time_of(plan_.peer_timeout) * 5 / 4 + 10 * second; }
    // rpmem_close() has a shorter limit than other calls.
    [[nodiscard]] static bool is_close(const CallEnd& end) { return end.name == "rpmem_close"; }

    World& world_;
    const Plan& plan_;
    const Disk& disk_;
    Time opened_at_ = never;
    std::optional<Time> max_try_; // maximum duration of calls that gave up
};

} // namespace rpmem::simulation::sessions
