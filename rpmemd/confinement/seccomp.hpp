// SPDX-License-Identifier: BSD-3-Clause
// Limits the system calls of the process, see seccomp(2).
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem::target {

// The log of refused system calls. Each line begins with PREFIX. A call number is logged once.
struct RefusalLog {
    UniqueFd file; // already open, because a confined process cannot open it
    std::string prefix;
};

// The files that may still be changed.
struct ChangeableFiles {
    bool may_remove = false; // files may be removed, unless Landlock forbids it
    int replaced = -1;       // directory in which files are created, renamed and removed, or -1
    int attributed = -1;     // file whose existing attributes are changed, or -1
};

// Limits all threads of the process to the calls in seccomp.cpp. This is irrevocable. Another call
// fails with EPERM and writes a line to LOG. A call that could take over this or another process,
// such as execve(2) or ptrace(2), kills the process.
[[nodiscard]] Result<> restrict_system_calls(const ChangeableFiles& files, RefusalLog log);

} // namespace rpmem::target
