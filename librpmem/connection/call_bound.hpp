// SPDX-License-Identifier: BSD-3-Clause
// Bounds the time that one call of the API spends on lost sessions: promise 5 of
// docs/reliability.md. The time starts at the first loss. Every later wait of the call gets at most
// what is left of it.
#pragma once

#include "common/base/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace rpmem::initiator {

struct CallTimes {
    std::chrono::milliseconds reconnecting; // RPMEM_RECONNECT_TIMEOUT or that of rpmem_close()
    std::chrono::milliseconds one_try;      // maximum time of an attempt, up to the first ack
    std::chrono::milliseconds first_pause;  // RPMEM_RECONNECT_DELAY
};

class CallBound {
public:
    using Clock = Deadline::Clock;
    using milliseconds = std::chrono::milliseconds;

    // Starts the time after a loss with this CAUSE, unless it has started already. SPENT is the
    // part of it that the call has used before.
    void begin(const CallTimes& times, const std::string& cause, milliseconds spent = {}) {
        if (begun_)
            return;
        const auto now = Clock::now();
        begun_ = Begun{.one_try = times.one_try,
                       .began = now,
                       .deadline = now + std::max(times.reconnecting - spent, milliseconds(0)),
                       .pause = times.first_pause,
                       .cause = cause};
    }
    // For a call that waits for the connection and does not need it: no attempt begins or lasts
    // after the deadline.
    void end_exactly() { is_exact_ = true; }
    [[nodiscard]] bool has_ended_exactly() const {
        return is_exact_ && begun_ && Clock::now() >= begun_->deadline;
    }
    // Call it when a range of the call was acknowledged. The next loss starts the full time again.
    void renew() { begun_.reset(); }
    // Like renew(), but only if the operation has progressed further than in any session before.
    // Otherwise a call whose sessions always fail at the same place would reconnect for ever.
    void renew_beyond(std::uint64_t acknowledged) {
        if (acknowledged > max_acknowledged_)
            renew();
        max_acknowledged_ = std::max(max_acknowledged_, acknowledged);
    }

    [[nodiscard]] bool has_begun() const { return begun_.has_value(); }
    [[nodiscard]] Clock::time_point began() const { return begun_->began; }
    [[nodiscard]] const std::string& first_cause() const { return begun_->cause; }
    [[nodiscard]] unsigned tries() const { return begun_->tries; }
    // Returns the number of sessions that were opened since the first loss. The call has not
    // progressed in any of them.
    [[nodiscard]] unsigned sessions() const { return begun_->sessions; }
    void count_session() { ++begun_->sessions; }

    // Whether another attempt may start. One attempt may start after the deadline, so that a
    // process that was stopped until then (SIGSTOP) gets one.
    [[nodiscard]] bool may_try() const { return !begun_->is_last && !has_ended_exactly(); }
    // Counts an attempt, and returns its maximum time.
    milliseconds start_try() {
        ++begun_->tries;
        extend_if_passed();
        return limit(begun_->one_try);
    }
    // Doubles the maximum time of the next attempts, up to MAX.
    void lengthen_tries(milliseconds max) {
        begun_->one_try = std::max(begun_->one_try, std::min(begun_->one_try * 2, max));
    }
    // For a call that waits for the attempts of another call. Returns false if it has waited as
    // long as its own attempts would have taken.
    [[nodiscard]] bool may_wait() {
        const bool may = may_try() || Clock::now() < begun_->deadline;
        extend_if_passed();
        return may;
    }
    [[nodiscard]] Clock::time_point deadline() const { return begun_->deadline; }

    // Returns the pause before the next attempt: 0 before the first one, then first_pause, doubled
    // each time up to MAX.
    milliseconds next_pause(milliseconds max) {
        if (begun_->tries == 0)
            return milliseconds(0);
        const milliseconds pause = begun_->pause;
        begun_->pause = std::min(pause * 2, max);
        return pause;
    }
    // Returns the time until the deadline, possibly 0.
    [[nodiscard]] milliseconds left() const {
        const auto left = std::chrono::ceil<milliseconds>(begun_->deadline - Clock::now());
        return std::max(left, milliseconds(0));
    }

    // Returns the limit of a step whose limit is TIME in a call without a loss.
    [[nodiscard]] milliseconds limit(milliseconds time) const {
        return begun_ ? std::max(std::min(time, left()), milliseconds(1)) : time;
    }

private:
    void extend_if_passed() {
        const auto now = Clock::now();
        if (is_exact_ || now < begun_->deadline || begun_->is_last)
            return;
        begun_->is_last = true;
        begun_->deadline = now + begun_->one_try;
    }

    struct Begun {
        milliseconds one_try;
        Clock::time_point began;
        Clock::time_point deadline;
        milliseconds pause;
        std::string cause;
        unsigned tries = 0;
        unsigned sessions = 0;
        bool is_last = false; // the last attempt has started, and the deadline is its own
    };
    std::optional<Begun> begun_;
    std::uint64_t max_acknowledged_ = 0;
    bool is_exact_ = false;
};

} // namespace rpmem::initiator
