// SPDX-License-Identifier: BSD-3-Clause
// Shows the progress of a long verb. Prints nothing in the first second, or without a terminal.
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
    // TOTAL is the number of bytes, or 0 if it is unknown. Then only the elapsed time is shown.
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
    std::thread thread_; // only with a terminal
};

// Returns a text such as "37%, 3.7 GiB of 10.0 GiB, 1.1 GiB/s, 6 s left".
[[nodiscard]] std::string progress_text(std::uint64_t done, std::uint64_t total, double seconds);

} // namespace rpmem::ctl
