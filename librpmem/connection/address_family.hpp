// SPDX-License-Identifier: BSD-3-Clause
// The choice between IPv4 and IPv6: the login and the lanes must reach the same address.
#pragma once

#include <string>
#include <vector>

namespace rpmem::initiator {

// RESOLVED are the addresses of the target's name, in the order in which lanes try them. Returns
// whether the first one is an IPv4 address. The login must then use IPv4 too.
[[nodiscard]] bool must_use_ipv4(const std::vector<std::string>& resolved);

} // namespace rpmem::initiator
