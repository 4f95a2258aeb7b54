// SPDX-License-Identifier: BSD-3-Clause
// Landlock, see landlock(7), limits the files, ports and processes that a process can reach. It
// holds for the thread that asks for it and for those that this thread starts, for good.
#pragma once

#include "common/base/result.hpp"

#include <span>

namespace rpmem::target {

// The version of Landlock's interface (ABI) that this kernel has; 0: it has none.
[[nodiscard]] unsigned landlock_version();

// The message for a kernel without it.
[[nodiscard]] Error no_landlock();

// The files that stay within reach. Descriptors; O_PATH will do.
struct ReachableFiles {
    std::span<const int> directories; // may be opened to be synced
    bool may_remove = false;          // files in and below DIRECTORIES
    int replaced = -1; // in and below it, files may be made, written, renamed and removed; -1: none
};

// From now on no file is opened, made, moved or removed, no port is bound or connected to, and no
// signal leaves the process, as far as this version of Landlock knows these things. Open
// descriptors stay open, listening sockets too. The exception is REACHABLE. The process must have
// given up new privileges (PR_SET_NO_NEW_PRIVS), and have no other thread.
[[nodiscard]] Result<> restrict_by_landlock(const ReachableFiles& reachable);

} // namespace rpmem::target
