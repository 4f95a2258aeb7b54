// SPDX-License-Identifier: BSD-3-Clause
// The processes of a run: finds its daemons, measures their memory, and assigns processors.
#pragma once

#include "common/base/result.hpp"

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rpmem::bench {

// A variable in the environment of this program and of all its daemons. Its value identifies the
// run.
inline constexpr const char* run_mark = "RPMEM_BENCH_RUN";

// Returns the daemons of this run on this machine.
[[nodiscard]] std::set<pid_t> daemons_now();

// Returns the daemon that is not in BEFORE. Returns 0 if there is none, or more than one.
[[nodiscard]] pid_t only_new_since(const std::set<pid_t>& before);

// Returns the bytes of the private pages of PID, without those in shared mappings of files, such as
// its pool.
[[nodiscard]] Result<std::uint64_t> private_memory_of(pid_t pid);

// Returns the entries of DIRECTORY whose names are numbers, such as processes, threads or
// descriptors in /proc.
[[nodiscard]] std::vector<pid_t> numbered_entries(const std::string& directory);

// The two ends of an exchange. If both spin on one processor, each keeps the other from running.
enum class Side { asking, answering };

// Returns the processors on which the calling thread may run.
[[nodiscard]] cpu_set_t allowed_processors();

// Sets the affinity of all threads of PROCESS: the processor of SIDE if APART, or else ALLOWED.
// Errors are ignored, because a result without affinity varies more, but is not wrong.
void place(pid_t process, Side side, bool apart, const cpu_set_t& allowed);

} // namespace rpmem::bench
