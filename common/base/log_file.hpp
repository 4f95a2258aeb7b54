// SPDX-License-Identifier: BSD-3-Clause
// Opens log files.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <string>

namespace rpmem {

// Opens PATH for appending, and creates it with mode 0640 if it is missing. Fails with ELOOP for a
// symbolic link, and with EINVAL or the error of open(2) for anything but a regular file or a
// character device. Fails with EACCES if another user may have placed the file: in a directory that
// others may write to, such as /tmp, the file belongs to another user than root, or has a second
// hard link.
[[nodiscard]] Result<UniqueFd> open_log_file(const std::string& path);

} // namespace rpmem
