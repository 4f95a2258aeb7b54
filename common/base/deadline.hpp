// SPDX-License-Identifier: BSD-3-Clause
// A point in time after which a wait gives up.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace rpmem {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(std::chrono::milliseconds from_now) : at_(Clock::now() + from_now) {}

    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }

    // The remaining milliseconds, rounded up and never negative: a timeout for poll(2).
    [[nodiscard]] int poll_timeout() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
        return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
    }
    [[nodiscard]] std::chrono::milliseconds left() const {
        return std::chrono::milliseconds(poll_timeout());
    }

private:
    Clock::time_point at_;
};

} // namespace rpmem
