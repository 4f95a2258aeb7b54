// SPDX-License-Identifier: BSD-3-Clause
// The bound of one call of the API on the time that lost sessions cost it: promise 5 of
// docs/reliability.md. A call that meets no loss never starts it. Whatever a call waits for after
// a loss gets what is left of it.
#pragma once

#include "common/base/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace rpmem::initiator {

struct CallTimes {
    std::chrono::milliseconds reconnecting; // RPMEM_RECONNECT_TIMEOUT, or that of rpmem_close()
    std::chrono::milliseconds one_try;      // the maximum, up to the first acknowledged range
    std::chrono::milliseconds first_pause;  // RPMEM_RECONNECT_DELAY
};

class CallBound {
public:
    using Clock = Deadline::Clock;
    using milliseconds = std::chrono::milliseconds;

    // A session is lost because of CAUSE. Only the first loss starts the time. SPENT counts, too.
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
    // A range of the call was acknowledged: the next loss starts the time anew.
    void renew() { begun_.reset(); }
    // The same if the call's operation got further than it did in any session before. Without the
    // comparison, a session that always dies at the same place would be made for ever.
    void renew_beyond(std::uint64_t acknowledged) {
        if (acknowledged > max_acknowledged_)
            renew();
        max_acknowledged_ = std::max(max_acknowledged_, acknowledged);
    }

    [[nodiscard]] bool has_begun() const { return begun_.has_value(); }
    [[nodiscard]] Clock::time_point began() const { return begun_->began; }
    [[nodiscard]] const std::string& first_cause() const { return begun_->cause; }
    [[nodiscard]] unsigned tries() const { return begun_->tries; }
    // Sessions that came up, and were lost before they had acknowledged a range of the call.
    [[nodiscard]] unsigned sessions() const { return begun_->sessions; }
    void count_session() { ++begun_->sessions; }

    // One try begins at the deadline or later: a process that was stopped until then (SIGSTOP)
    // has it in any case.
    [[nodiscard]] bool may_try() const { return !begun_->is_last; }
    // Returns the maximum time of the try that begins now.
    milliseconds start_try() {
        ++begun_->tries;
        extend_if_passed();
        return limit(begun_->one_try);
    }
    // For a call that waits for the tries of another one: returns false if it has waited for as
    // long as its own tries would have taken.
    [[nodiscard]] bool may_wait() {
        const bool may = may_try() || Clock::now() < begun_->deadline;
        extend_if_passed();
        return may;
    }
    [[nodiscard]] Clock::time_point deadline() const { return begun_->deadline; }

    // Before the next try: none before the first, then twice as long each time, up to MAX.
    milliseconds next_pause(milliseconds max) {
        if (begun_->tries == 0)
            return milliseconds(0);
        const milliseconds pause = begun_->pause;
        begun_->pause = std::min(pause * 2, max);
        return pause;
    }
    // Until the deadline.
    [[nodiscard]] milliseconds left() const {
        const auto left = std::chrono::ceil<milliseconds>(begun_->deadline - Clock::now());
        return std::max(left, milliseconds(0));
    }

    // How long a step may take that takes at most TIME in a call without a loss.
    [[nodiscard]] milliseconds limit(milliseconds time) const {
        return begun_ ? std::max(std::min(time, left()), milliseconds(1)) : time;
    }

private:
    void extend_if_passed() {
        const auto now = Clock::now();
        if (now < begun_->deadline || begun_->is_last)
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
        bool is_last = false; // the last try has begun, and the deadline is its own
    };
    std::optional<Begun> begun_;
    std::uint64_t max_acknowledged_ = 0;
};

} // namespace rpmem::initiator
