// The process of the limits that asks, and measures.
#pragma once

#include "tools/bench/options.hpp"

namespace rpmem::bench {

// Serves tasks that come from CONTROL until its end. The answering process is one of this machine
// if the target's address is loopback, else it is started through ssh.
void serve_limits(int control, const Options& options);

} // namespace rpmem::bench
