// SPDX-License-Identifier: BSD-3-Clause
// The system calls that the process may still make, see seccomp(2).
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem::target {

// The log of refused calls: a line that begins with PREFIX, once for each number of a call.
struct RefusalLog {
    UniqueFd file; // open before: none is opened later
    std::string prefix;
};

// The files that the calls may change.
struct ChangeableFiles {
    bool may_remove = false; // as far as Landlock does not forbid it
    int replaced = -1;       // a directory: files are made, renamed and removed there; -1: none
    int attributed = -1;     // a file of which existing attributes are changed; -1: none
};

// From now on, for good, all threads make the calls only that seccomp.cpp lists. Others fail with
// EPERM, and LOG has a line; those that lead out of the process at once (execve(2), ptrace(2) and
// the like) kill it.
[[nodiscard]] Result<> restrict_system_calls(const ChangeableFiles& files, RefusalLog log);

} // namespace rpmem::target
