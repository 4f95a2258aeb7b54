// SPDX-License-Identifier: BSD-3-Clause
// Landlock, see landlock(7): which files, ports and processes a process may still reach. It holds
// for the thread that asks for it and for those that this thread starts, for good.
#pragma once

#include "common/base/result.hpp"

#include <span>

namespace rpmem::target {

// The version of Landlock's interface (ABI) that this kernel has; 0: it has none.
[[nodiscard]] unsigned landlock_version();

// What to say of a kernel without it.
[[nodiscard]] Error no_landlock();

// From now on no file is opened, made, moved or removed, no port is bound or connected to, and no
// signal leaves the process, as far as this version of Landlock knows these things. What is open
// stays so, listening sockets too. The exception: DIRECTORIES (descriptors; O_PATH will do) may be
// opened to be synced, and with MAY_REMOVE files in and below them may be removed. The process must
// have given up new privileges (PR_SET_NO_NEW_PRIVS), and have no other thread.
[[nodiscard]] Result<> restrict_by_landlock(std::span<const int> directories, bool may_remove);

} // namespace rpmem::target
