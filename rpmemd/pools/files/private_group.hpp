// SPDX-License-Identifier: BSD-3-Clause
// User-private groups: Debian gives each user a group of the same name without other members, and
// since Debian 13 a umask of 002. So the group may write to all files that the user creates.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>

namespace rpmem::target {

// Returns the primary group of USER if no other account can use it: it has the name of the user, no
// other members, and it is the primary group of no other account. USERS and GROUPS are open files
// in the format of passwd(5) and group(5). Null stands for a file that cannot be read, and then no
// group is private. Root has none, because other accounts often belong to its group.
[[nodiscard]] std::optional<gid_t> private_group(uid_t user, std::FILE* users, std::FILE* groups);

// Returns the private group of the daemon's user by /etc/passwd and /etc/group. Accounts of other
// databases have none. Reads the files at the first call.
[[nodiscard]] std::optional<gid_t> own_private_group();

} // namespace rpmem::target
