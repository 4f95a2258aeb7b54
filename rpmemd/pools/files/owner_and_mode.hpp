// SPDX-License-Identifier: BSD-3-Clause
// The mode of new parts, and the check whether users besides root and the daemon's user could
// change a file or a directory.
#pragma once

#include "common/base/result.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

namespace rpmem::target {

// Replicated data is confidential, so other users may not read it by default. The umask applies,
// too.
inline constexpr mode_t default_part_mode = 0600;

// Fails with EACCES if another user owns the file FD (O_PATH suffices), or may write to it by its
// mode or a POSIX ACL. The private group of the daemon's user may write, see private_group.hpp.
// TOLERATED are the bits of S_IWGRP | S_IWOTH that are allowed. In a user namespace, accepts a
// directory whose owner is not mapped. If the namespace does not map the daemon's user either,
// owners cannot be distinguished, so everything is refused. The error text names PATH and a remedy.
Result<> check_ownership(int fd, const struct stat& status, const std::string& path,
                         mode_t tolerated = 0);

// Returns true if check_ownership() refuses the file PATH only because its mode or its ACL lets
// others write, so that `chmod go-w` makes it acceptable. Follows symbolic links.
[[nodiscard]] bool is_refused_by_mode(const std::string& path, mode_t tolerated);

} // namespace rpmem::target
