// SPDX-License-Identifier: BSD-3-Clause
// The system calls that the process may still make, see seccomp(2).
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem::target {

// Where a refused call is told, a line that begins with PREFIX, once for each number of a call.
struct RefusalLog {
    UniqueFd file; // open before: none is opened later
    std::string prefix;
};

// From now on, for good, all threads make the calls only that seccomp.cpp lists. Others fail with
// EPERM, and LOG has a line; those that lead out of the process at once (execve(2), ptrace(2) and
// the like) kill it. MAY_REMOVE: files may be removed, as far as Landlock does not forbid it.
[[nodiscard]] Result<> restrict_system_calls(bool may_remove, RefusalLog log);

} // namespace rpmem::target
