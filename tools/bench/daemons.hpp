// The daemons of this run, if they are on this machine: to ask what they cost.
#pragma once

#include "common/base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <set>

namespace rpmem::bench {

// In the environment of this program and of all its daemons; the value is different in every run.
inline constexpr const char* run_mark = "RPMEM_BENCH_RUN";

class Daemons {
public:
    static Daemons now();

    // The one that was not there before; 0 if there is none, or several.
    [[nodiscard]] pid_t only_new_since(const Daemons& before) const;

private:
    std::set<pid_t> pids_;
};

// Bytes of the private pages of PID, without those of the files that it shares: its pool.
[[nodiscard]] Result<std::uint64_t> private_memory_of(pid_t pid);

// 0 if PID is 0 or gone.
[[nodiscard]] unsigned threads_of(pid_t pid);

} // namespace rpmem::bench
