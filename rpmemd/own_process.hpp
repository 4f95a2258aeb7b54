// SPDX-License-Identifier: BSD-3-Clause
// Rights that the process gives up before it does anything else.
#pragma once

#include "common/base/result.hpp"

namespace rpmem::target {

// No more rights by execve(2); no core file, which would hold data of the pool and the secrets of
// the session; no other process of the same user looks into this one. A sanitizer looks into its
// own process from outside, so that this last step is left out where there is one.
void give_up_privileges();

// Starts the program anew without the variables that a peer may have sent (AcceptEnv of
// sshd_config(5)): libraries have read some of them before main(). Returns if there are none, or
// with the reason why that failed.
[[nodiscard]] Result<> forget_environment(char* const argv[]);

} // namespace rpmem::target
