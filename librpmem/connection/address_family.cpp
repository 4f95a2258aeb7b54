// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/address_family.hpp"

#include "common/base/host_address.hpp"

namespace rpmem::initiator {

bool must_use_ipv4(const std::vector<std::string>& resolved) {
    const auto first = parse_address(resolved.empty() ? "" : resolved.front());
    return first && first->family == HostAddress::Family::ipv4;
}

} // namespace rpmem::initiator
