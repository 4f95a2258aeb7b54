// The two processes behind Limits. Each serves what comes from CONTROL until it is closed.
#pragma once

#include "base/unique_fd.hpp"

#include <string>

namespace rpmem::bench {

// Asks; starts the other one itself.
void serve_limits(const UniqueFd& control, const std::string& provider);

} // namespace rpmem::bench
