// SPDX-License-Identifier: BSD-3-Clause
// Times for display.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace rpmem {

// Returns the time of SECONDS since the epoch: "2026-01-31 12:00:00 UTC".
[[nodiscard]] inline std::string describe_time(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm fields{};
    char text[64];
    if (::gmtime_r(&time, &fields) == nullptr ||
        std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &fields) == 0)
        return "an unknown time";
    return text;
}

} // namespace rpmem
