// Time, and the processor time of processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace rpmem::bench {

using Nanoseconds = std::chrono::nanoseconds;

[[nodiscard]] inline Nanoseconds time_of(clockid_t clock) {
    timespec now{};
    if (clock_gettime(clock, &now) != 0)
        return Nanoseconds::zero();
    return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

// Since some point in the past, the same for all processes.
[[nodiscard]] inline Nanoseconds now() { return time_of(CLOCK_MONOTONIC); }

// Of all threads of this process, those that have ended too.
[[nodiscard]] inline Nanoseconds own_cpu_time() { return time_of(CLOCK_PROCESS_CPUTIME_ID); }

// Of another process; 0 if it is gone, or for PID 0.
[[nodiscard]] inline Nanoseconds cpu_time_of(pid_t pid) {
    clockid_t clock{};
    if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0)
        return Nanoseconds::zero();
    return time_of(clock);
}

} // namespace rpmem::bench
