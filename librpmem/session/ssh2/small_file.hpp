// SPDX-License-Identifier: BSD-3-Clause
// Reads small files of the user: keys and known hosts.
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

// Fails with EFBIG if the file is larger than LIMIT, with EINVAL if it is not a regular file, and
// like open(2). The text has only the reason, not the path.
Result<SmallFile> read_small_file(const std::string& path, std::size_t limit);

} // namespace rpmem::initiator::ssh2
