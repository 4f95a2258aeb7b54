// SPDX-License-Identifier: BSD-3-Clause
// The target string of the API, [user@]host[:port], and where that is.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::initiator {

struct Target {
    std::string user; // empty: ssh decides
    std::string host; // a name, an IPv4 or an IPv6 address (without brackets)
    std::optional<std::uint16_t> port;

    // As ssh takes it, and as messages name it.
    [[nodiscard]] std::string login() const { return user.empty() ? host : user + "@" + host; }
};

// An IPv6 address with a port is written [address]:port; a bare one is a host without a port.
// EINVAL with the reason.
Result<Target> parse_target(std::string_view text);

} // namespace rpmem::initiator
