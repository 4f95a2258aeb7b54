// SPDX-License-Identifier: BSD-3-Clause
// Opens log files.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem {

// Opens PATH for appending, and creates it with mode 0640 if it is missing. Fails with ELOOP for a
// symbolic link, and with EINVAL or the error of open(2) for anything but a regular file or a
// character device. Fails with EACCES if another user may have placed the file: others may write to
// its directory, such as /tmp, and the file has a second hard link or belongs to neither root nor
// this user.
[[nodiscard]] Result<UniqueFd> open_log_file(const std::string& path);

} // namespace rpmem
