// SPDX-License-Identifier: BSD-3-Clause
// How the target is reached, as the library does it.
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <vector>

namespace rpmem::bench {

// ssh, and what it is to run on TARGET, which is [user@]host[:port].
[[nodiscard]] std::vector<std::string> ssh_words(const std::string& target,
                                                 const std::string& command);

// The number of TARGET's address if that is this machine's loopback; else empty.
[[nodiscard]] std::string loopback_address_of(const std::string& target);

// Milliseconds of "ssh TARGET true".
[[nodiscard]] Result<double> log_in_once(const std::string& target);

} // namespace rpmem::bench
