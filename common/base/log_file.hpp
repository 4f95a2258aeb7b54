// SPDX-License-Identifier: BSD-3-Clause
// Opening a file for a log.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem {

// For appending; made with mode 0640 if it is not there. ELOOP for a symbolic link, EINVAL for what
// is neither a regular file nor a character device, EACCES if another user could have put it there:
// in a directory that others may write to, such as /tmp, a file that another user owns or that has
// a second name.
[[nodiscard]] Result<UniqueFd> open_log_file(const std::string& path);

} // namespace rpmem
