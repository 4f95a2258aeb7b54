// SPDX-License-Identifier: BSD-3-Clause
// The open pools of programs that run on this machine, as their memory files show them.
#pragma once

#include "common/base/unique_fd.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace rpmem::ctl {

struct RunningPool {
    std::string program; // as /proc/PID/comm has it, printable
    initiator::PoolSnapshot counts;
    uid_t user = 0;
};

struct RunningPools {
    std::vector<RunningPool> pools; // by process id
    unsigned hidden = 0;            // processes of other users that were not looked into
    std::vector<std::string> problems;
};

enum class Users { own, all };

// WHOM: a process id, or a file that the programs have open or mapped; empty: all. The counters are
// what the programs say, except for the process id. A process that was named may be of any user.
// KEEP gets each pool with its memory file, which outlives the program.
[[nodiscard]] RunningPools
find_running_pools(const std::string& whom, Users users,
                   const std::function<void(const RunningPool&, UniqueFd)>& keep = {});

// Whether both are of the same pool of the same program.
[[nodiscard]] bool is_same(const initiator::PoolSnapshot& one,
                           const initiator::PoolSnapshot& other);

} // namespace rpmem::ctl
