// SPDX-License-Identifier: BSD-3-Clause
// Small files of the user: keys and known hosts.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/session/ssh2/secret.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <string>

namespace rpmem::initiator::ssh2 {

struct SmallFile {
    SecretText content; // it may be a private key
    struct stat status;
};

// EFBIG if a regular file is larger than LIMIT, EINVAL if it is no regular file. The text is the
// reason alone.
Result<SmallFile> read_small_file(const std::string& path, std::size_t limit);

} // namespace rpmem::initiator::ssh2
