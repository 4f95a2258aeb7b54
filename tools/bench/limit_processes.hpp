// The two processes behind Limits. Each serves what comes from CONTROL until it is closed.
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <functional>
#include <string>

namespace rpmem::bench {

// A process of its own that runs SERVE and ends with this one; the socket to it.
Result<UniqueFd> start_process(const std::function<void(UniqueFd)>& serve);

// Asks; starts the other one itself.
void serve_limits(const UniqueFd& control, const std::string& provider, const std::string& medium);

} // namespace rpmem::bench
