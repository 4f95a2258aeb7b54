// SPDX-License-Identifier: BSD-3-Clause
// Locks parts by flock(2): exclusively for a session that may write, and shared for sessions that
// only read. Readers give way to a writer. A lease, see fcntl(2), shows a reader that a process
// waits to open the part for writing. While a process has the part open for writing, no further
// reader gets a lock. So one reader after another cannot keep a writer out.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"

namespace rpmem::target {

// Opens a part. If readers have leases on it, waits up to 5 s for them to give way. On failure the
// result is empty and errno is set, to EWOULDBLOCK if readers still have the part.
[[nodiscard]] UniqueFd open_unless_read(const ResolvedPath& place, int flags);

// Takes an exclusive lock, and waits up to 5 s for readers. On failure returns false and sets
// errno, to EWOULDBLOCK if another process has a lock.
[[nodiscard]] bool lock_to_write(int fd);
// Takes a shared lock on FD, which is open read-only. Fails like lock_to_write(), and also with
// EWOULDBLOCK if a process has the part open for writing. Sets LEASED if the kernel will report the
// next writer, see is_lease_broken(). It does not on NFS, for a Device DAX, or for a part of
// another user.
[[nodiscard]] bool lock_to_read(int fd, bool& leased);

// Returns whether a process waits to open the part for writing. It waits until FD is closed.
[[nodiscard]] bool is_lease_broken(int fd);

} // namespace rpmem::target
