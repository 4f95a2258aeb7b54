// A channel through ssh(1), in a process of its own.
#pragma once

#include "librpmem/session/channel.hpp"

namespace rpmem::initiator {

// Starts the program ARGUMENTS (ssh) and talks over its standard input and output.
Result<std::unique_ptr<Channel>> start_process_channel(const std::vector<std::string>& arguments);

} // namespace rpmem::initiator
