// SPDX-License-Identifier: BSD-3-Clause
// How long nothing has come from the peer while the daemon was listening. Time in which the daemon
// did something else, or did not run at all, does not count: the peer may have spoken meanwhile.
#pragma once

#include <algorithm>
#include <chrono>

namespace rpmem::target {

class PeerSilence {
public:
    using Time = std::chrono::milliseconds;

    explicit PeerSilence(Time limit) : limit_(limit) {}

    // How long to listen next.
    [[nodiscard]] Time next_wait() const {
        constexpr int shares = 4; // a machine that was asleep counts as one of them
        return std::min(limit_ / shares, limit_ - silent_);
    }
    // It was to be listened for WANTED, and it took TOOK.
    void waited(Time wanted, Time took) { silent_ += std::min(wanted, took); }
    void heard() { silent_ = Time(0); }

    [[nodiscard]] bool is_over() const { return silent_ >= limit_; }
    [[nodiscard]] Time limit() const { return limit_; }

private:
    Time limit_;
    Time silent_{0};
};

} // namespace rpmem::target
