// SPDX-License-Identifier: BSD-3-Clause
// Logs in to the target in the same way as the library.
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <vector>

namespace rpmem::bench {

// Returns the arguments of ssh that run COMMAND on TARGET, which is [user@]host[:port].
[[nodiscard]] std::vector<std::string> ssh_words(const std::string& target,
                                                 const std::string& command);

// Returns the numeric address of TARGET if it is a loopback address, or an empty text.
[[nodiscard]] std::string loopback_address_of(const std::string& target);

// Runs `ssh TARGET true`, and returns its duration in milliseconds.
[[nodiscard]] Result<double> log_in_once(const std::string& target);

} // namespace rpmem::bench
