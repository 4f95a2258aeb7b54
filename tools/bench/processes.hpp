// SPDX-License-Identifier: BSD-3-Clause
// The processes of a run: its daemons, their processors and their cost.
#pragma once

#include "common/base/result.hpp"

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rpmem::bench {

// In the environment of this program and of all its daemons; the value is different in every run.
inline constexpr const char* run_mark = "RPMEM_BENCH_RUN";

// Of this run, and on this machine.
[[nodiscard]] std::set<pid_t> daemons_now();

// The daemon that was not there before; 0 if there is none, or several.
[[nodiscard]] pid_t only_new_since(const std::set<pid_t>& before);

// Bytes of the private pages of PID, without those of the files that it shares: its pool.
[[nodiscard]] Result<std::uint64_t> private_memory_of(pid_t pid);

// The files of DIRECTORY that are named by a number, as those of processes, threads, descriptors.
[[nodiscard]] std::vector<pid_t> numbered_entries(const std::string& directory);

// The two ends of an exchange. If they spin on one processor, they only wait for each other.
enum class Side { asking, answering };

// Of the calling thread.
[[nodiscard]] cpu_set_t allowed_processors();

// All threads of PROCESS: if APART on the processor of their SIDE, else where the scheduler wants
// them among ALLOWED. If the kernel refuses, the threads stay where they are: then a figure says
// less, but it is none the worse for it.
void place(pid_t process, Side side, bool apart, const cpu_set_t& allowed);

} // namespace rpmem::bench
