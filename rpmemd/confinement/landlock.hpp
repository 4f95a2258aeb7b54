// SPDX-License-Identifier: BSD-3-Clause
// Landlock, see landlock(7), limits the files, ports and processes that a thread can access. The
// restriction is irrevocable, and covers the calling thread and the threads that it starts later.
#pragma once

#include "common/base/result.hpp"

#include <span>

namespace rpmem::target {

// Returns the version of the Landlock ABI of this kernel, or 0 if it has no Landlock.
[[nodiscard]] unsigned landlock_version();

// Returns the error for a kernel without Landlock.
[[nodiscard]] Error no_landlock();

// Descriptors of the directories that stay accessible. O_PATH suffices.
struct ReachableFiles {
    std::span<const int> directories; // may be opened to be synced
    bool may_remove = false;          // files in and below DIRECTORIES may be removed
    int replaced = -1; // files in and below it may be created, written, renamed and removed; or -1
};

// Forbids to open, create, rename or remove files except in REACHABLE, to bind or connect TCP
// ports, to connect to abstract UNIX sockets, and to send signals to other processes, as far as
// this version of Landlock supports it. Open descriptors and listening sockets remain usable. The
// process must have set PR_SET_NO_NEW_PRIVS and have no other thread. Fails with ENOSYS without
// Landlock, with EBUSY if there are other threads or /proc is not mounted, and with the errno
// values of landlock_create_ruleset(2) and the like.
[[nodiscard]] Result<> restrict_by_landlock(const ReachableFiles& reachable);

} // namespace rpmem::target
