// SPDX-License-Identifier: BSD-3-Clause
// The timeout for messages of the peer. Only the time counts during which the daemon waits for
// them. While it is busy or suspended, the peer may have sent messages that were not read yet.
#pragma once

#include <algorithm>
#include <chrono>

namespace rpmem::target {

class PeerTimeout {
public:
    using Time = std::chrono::milliseconds;

    explicit PeerTimeout(Time limit) : limit_(limit) {}

    // Returns the timeout for the next wait.
    [[nodiscard]] Time next_wait() const {
        // Several waits, because a suspended machine makes one of them time out.
        constexpr int shares = 4;
        return std::min(limit_ / shares, limit_ - elapsed_);
    }
    // A wait with the timeout WANTED has ended after TOOK without a message.
    void waited(Time wanted, Time took) { elapsed_ += std::min(wanted, took); }
    void restart() { elapsed_ = Time(0); }

    [[nodiscard]] bool is_over() const { return elapsed_ >= limit_; }
    [[nodiscard]] Time limit() const { return limit_; }

private:
    Time limit_;
    Time elapsed_{0};
};

} // namespace rpmem::target
