// SPDX-License-Identifier: BSD-3-Clause
// Users besides the daemon's and root that could change a file or a directory.
#pragma once

#include "common/base/result.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

namespace rpmem::target {

// EACCES if anyone but root and the daemon's user owns what FD (O_PATH will do) names, or may write
// to it by mode bits or a POSIX ACL. TOLERATED are the bits of S_IWGRP | S_IWOTH that are in order.
// The text names PATH and the command that mends it.
Result<> check_ownership(int fd, const struct stat& status, const std::string& path,
                         mode_t tolerated = 0);

} // namespace rpmem::target
