// SPDX-License-Identifier: BSD-3-Clause
// Finds the open pools of the programs that run on this machine, from their memory files.
#pragma once

#include "common/base/unique_fd.hpp"
#include "librpmem/statistics/pool_snapshot.hpp"

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace rpmem::ctl {

struct RunningPool {
    std::string program; // from /proc/PID/comm, made printable
    initiator::PoolSnapshot counts;
    uid_t user = 0;
};

struct RunningPools {
    std::vector<RunningPool> pools; // sorted by process ID
    unsigned hidden = 0;            // number of processes of other users that were not examined
    std::vector<std::string> problems;
};

enum class Users { own, all };

// WHOM is a process ID, or a file that the programs have open or mapped; empty for all programs. A
// process named by its ID may belong to any user. The counters contain what the programs wrote, and
// only their process ID is verified. Calls KEEP with each pool and a descriptor of its memory file,
// which outlives the program.
[[nodiscard]] RunningPools
find_running_pools(const std::string& whom, Users users,
                   const std::function<void(const RunningPool&, UniqueFd)>& keep = {});

// Returns whether both are snapshots of one pool of one program, opened once.
[[nodiscard]] bool is_same(const initiator::PoolSnapshot& one,
                           const initiator::PoolSnapshot& other);

} // namespace rpmem::ctl
