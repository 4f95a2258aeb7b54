// SPDX-License-Identifier: BSD-3-Clause
// How far a long verb is: on a terminal only, and not within the first second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace rpmem::ctl {

class Progress {
public:
    // TOTAL: bytes; 0: not known, then only the time is told.
    Progress(std::string what, std::uint64_t total);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    void add(std::uint64_t bytes) { done_.fetch_add(bytes, std::memory_order_relaxed); }

private:
    void show(double seconds) const;

    const std::string what_;
    const std::uint64_t total_;
    std::atomic<std::uint64_t> done_{0};
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ended_ = false;
    std::thread thread_; // none without a terminal
};

// "37%, 3.7 GiB of 10.0 GiB, 1.1 GiB/s, 6 s left"
[[nodiscard]] std::string progress_text(std::uint64_t done, std::uint64_t total, double seconds);

} // namespace rpmem::ctl
