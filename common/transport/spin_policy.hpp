// SPDX-License-Identifier: BSD-3-Clause
// Whether a wait looks again and again before it sleeps. It looks for RPMEM_SPIN_TIME, as a peer
// answers in less time than it takes to fall asleep and be woken. When it has done that in vain a
// few times in a row, waits sleep at once for a while.
#pragma once

#include <chrono>

namespace rpmem::transport {

class SpinPolicy {
public:
    using Clock = std::chrono::steady_clock;

    explicit SpinPolicy(std::chrono::nanoseconds time) : time_(time) {}

    // How long a wait that begins NOW may look; 0: it sleeps at once.
    [[nodiscard]] std::chrono::nanoseconds time(Clock::time_point now) const {
        return now < resumes_ ? std::chrono::nanoseconds(0) : time_;
    }
    // A wait has ended. One that looked for longer than it may was interrupted: then others want
    // the processor.
    void ended(Clock::time_point began, Clock::time_point now) {
        if (began < resumes_)
            return;
        if (now - began <= time_) {
            in_vain_ = 0;
        } else if (++in_vain_ >= max_in_vain) {
            in_vain_ = max_in_vain - 1; // one more try will do to tell
            resumes_ = now + pause;
        }
    }

private:
    // Enough for a peer that is late now and then.
    static constexpr unsigned max_in_vain = 4;
    // A try in vain costs half a percent of it, with the default of RPMEM_SPIN_TIME.
    static constexpr std::chrono::milliseconds pause{10};

    std::chrono::nanoseconds time_;
    unsigned in_vain_ = 0; // waits in a row
    Clock::time_point resumes_{};
};

} // namespace rpmem::transport
