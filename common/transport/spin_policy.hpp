// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a wait polls before it sleeps. A wait polls for RPMEM_SPIN_TIME, because a peer
// often responds in less time than a thread needs to sleep and wake up. After a few failed polls in
// a row, waits sleep at once for a while.
#pragma once

#include <chrono>

namespace rpmem::transport {

class SpinPolicy {
public:
    using Clock = std::chrono::steady_clock;

    explicit SpinPolicy(std::chrono::nanoseconds time) : time_(time) {}

    // Returns how long a wait that begins NOW may poll. Returns 0 if it should sleep at once.
    [[nodiscard]] std::chrono::nanoseconds time(Clock::time_point now) const {
        return now < resumes_ ? std::chrono::nanoseconds(0) : time_;
    }
    // Records the end of a wait. A wait that exceeded the spin time was pre-empted or had to sleep,
    // so polling did not pay.
    void ended(Clock::time_point began, Clock::time_point now) {
        if (began < resumes_)
            return;
        if (now - began <= time_) {
            in_vain_ = 0;
        } else if (++in_vain_ >= max_in_vain) {
            in_vain_ = max_in_vain - 1; // after the pause one more failure is enough
            resumes_ = now + pause;
        }
    }

private:
    // Tolerates a peer that is late now and then.
    static constexpr unsigned max_in_vain = 4;
    // With the default of RPMEM_SPIN_TIME a failed poll costs half a percent of the pause.
    static constexpr std::chrono::milliseconds pause{10};

    std::chrono::nanoseconds time_;
    unsigned in_vain_ = 0; // failed polls in a row
    Clock::time_point resumes_{};
};

} // namespace rpmem::transport
