// SPDX-License-Identifier: BSD-3-Clause
// The sockets of programs that rpmemctl steers: $XDG_RUNTIME_DIR/librpmem/PID.sock.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/types.h>
#include <sys/un.h>

#include <string>

namespace rpmem::initiator {

// Returns the directory of the sockets, and creates it with mode 0700. Fails if it, or RUNTIME_DIR
// itself, belongs to another user, or if others may use it.
[[nodiscard]] Result<std::string> make_control_directory(const std::string& runtime_dir);

// Fails with ENAMETOOLONG if PATH does not fit.
[[nodiscard]] Result<sockaddr_un> control_address(const std::string& path);

// Whether PATH is a socket at which nothing listens.
[[nodiscard]] bool is_abandoned(const std::string& path);

// Removes the sockets of processes that were killed.
void remove_stale_sockets(const std::string& directory);

} // namespace rpmem::initiator
