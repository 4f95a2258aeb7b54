// SPDX-License-Identifier: BSD-3-Clause
// Restrictions that the process imposes on itself before it does anything else.
#pragma once

#include "common/base/result.hpp"

namespace rpmem::target {

// Forbids new privileges by execve(2), core files, and access by other processes of the same user.
// A core file would contain data of the pool and the secrets of the session. A build with a
// sanitizer still allows the access, because the sanitizer traces its own process.
void give_up_privileges();

// Executes the program again without the variables that a client may have sent (AcceptEnv of
// sshd_config(5)), because libraries have read some of them before main(). Returns if there are no
// such variables, or on failure.
[[nodiscard]] Result<> forget_environment(char* const argv[]);

} // namespace rpmem::target
