// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/progress.hpp"

#include "tools/ctl/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace rpmem::ctl {
namespace {

constexpr std::chrono::seconds first_shown(1);
constexpr std::chrono::milliseconds interval(200);
constexpr const char* erase_line = "\r\x1b[K";

} // namespace

std::string progress_text(std::uint64_t done, std::uint64_t total, double seconds) {
    if (total == 0)
        return fmt::format("{:.0f} s", seconds);
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    std::string text = fmt::format("{}%, {} of {}, {}/s", done * 100 / total, size_text(done),
                                   size_text(total), size_text(static_cast<std::uint64_t>(rate)));
    if (rate > 0)
        text += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
    return text;
}

Progress::Progress(std::string what, std::uint64_t total) : what_(std::move(what)), total_(total) {
    if (::isatty(STDERR_FILENO) == 0)
        return;
    thread_ = std::thread([this] {
        const auto start = std::chrono::steady_clock::now();
        std::unique_lock lock(mutex_);
        std::chrono::milliseconds pause = first_shown;
        while (!wake_.wait_for(lock, pause, [this] { return ended_; })) {
            show(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            pause = interval;
        }
    });
}

void Progress::show(double seconds) const {
    const std::uint64_t done = done_.load(std::memory_order_relaxed);
    fmt::print(stderr, "{}{}: {}", erase_line, what_, progress_text(done, total_, seconds));
    static_cast<void>(std::fflush(stderr));
}

Progress::~Progress() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
    fmt::print(stderr, "{}", erase_line);
}

} // namespace rpmem::ctl
