// SPDX-License-Identifier: BSD-3-Clause
// The locks of parts: flock(2), exclusive for a session that may write, and shared for those that
// only read. Readers give way: the kernel reports by a lease, fcntl(2), that a process opens the
// part for writing, and a reader that comes then gets no lock. So readers that follow each other
// cannot keep a writer out.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"

namespace rpmem::target {

// Opens a part. Where readers have it, waits for a short time until they have given way. Without a
// descriptor, errno says why: EWOULDBLOCK if they have not.
[[nodiscard]] UniqueFd open_unless_read(const ResolvedPath& place, int flags);

// Return false, with errno: EWOULDBLOCK if another writer has the part. A writer waits for readers
// for a short time.
[[nodiscard]] bool lock_to_write(int fd);
// Also if a process has the part open for writing. FD is open to read only. LEASED: the kernel
// reports the next one, see is_lease_broken(); not on NFS, for a Device DAX and a part of another
// user.
[[nodiscard]] bool lock_to_read(int fd, bool& leased);

// A process waits to open the part for writing, until FD is closed.
[[nodiscard]] bool is_lease_broken(int fd);

} // namespace rpmem::target
