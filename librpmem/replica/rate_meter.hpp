// SPDX-License-Identifier: BSD-3-Clause
// Measures how many bytes per second are sent now.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace rpmem::initiator {

// Bytes are counted in windows of at least a second. The rate of a full window is reported for the
// next second, so that it does not jump with each batch. If the next window is not full by then,
// sending has stalled, and its average is reported, which falls. Thread-safe.
class RateMeter {
public:
    using Clock = std::chrono::steady_clock;

    void start(Clock::time_point now) {
        const std::lock_guard lock(mutex_);
        began_ = now;
        bytes_ = 0;
        full_.reset();
    }
    void count(std::size_t bytes, Clock::time_point now) {
        const std::lock_guard lock(mutex_);
        bytes_ += bytes;
        if (now - began_ < window)
            return;
        full_ = present(now);
        began_ = now;
        bytes_ = 0;
    }
    [[nodiscard]] std::uint64_t per_second(Clock::time_point now) const {
        const std::lock_guard lock(mutex_);
        return full_ && now - began_ < window ? *full_ : present(now);
    }

private:
    static constexpr std::chrono::seconds window{1};
    static constexpr double min_time = 0.001; // seconds; a shorter one gives no rate

    [[nodiscard]] std::uint64_t present(Clock::time_point now) const {
        const std::chrono::duration<double> took = now - began_;
        return static_cast<std::uint64_t>(static_cast<double>(bytes_) /
                                          std::max(took.count(), min_time));
    }

    mutable std::mutex mutex_;
    Clock::time_point began_{};
    std::size_t bytes_ = 0;
    std::optional<std::uint64_t> full_; // rate of the last full window
};

} // namespace rpmem::initiator
