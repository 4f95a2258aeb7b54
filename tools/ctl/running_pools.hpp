// SPDX-License-Identifier: BSD-3-Clause
// The open pools of programs that run on this machine, as their memory files show them.
#pragma once

#include "librpmem/statistics/pool_snapshot.hpp"

#include <string>
#include <vector>

namespace rpmem::ctl {

struct RunningPool {
    std::string program; // as /proc/PID/comm has it, printable
    initiator::PoolSnapshot counts;
};

struct RunningPools {
    std::vector<RunningPool> pools; // by process id
    unsigned hidden = 0;            // processes that this user may not look into
    std::vector<std::string> problems;
};

// WHOM: a process id, or a file that the programs have open or mapped; empty: all.
[[nodiscard]] RunningPools find_running_pools(const std::string& whom);

} // namespace rpmem::ctl
