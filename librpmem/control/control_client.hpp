// SPDX-License-Identifier: BSD-3-Clause
// rpmemctl's end of the socket of a program, see control_server.hpp.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/control/control_message.hpp"

#include <sys/types.h>

#include <string>

namespace rpmem::initiator {

// Sends REQUEST to PROCESS, whose socket is PATH, and waits for the answer for at most 10 s. Fails
// with the error of the answer, and with EPERM if another process or user has the socket.
[[nodiscard]] Result<> steer_program(const std::string& path, pid_t process,
                                     const ControlRequest& request);

} // namespace rpmem::initiator
