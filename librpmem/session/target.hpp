// SPDX-License-Identifier: BSD-3-Clause
// The target string of the API: [user@]host[:port].
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::initiator {

struct Target {
    std::string user; // empty if ssh is to choose it
    std::string host; // a name, an IPv4 or an IPv6 address (without brackets)
    std::optional<std::uint16_t> port;

    // Returns [user@]host, for ssh and for messages.
    [[nodiscard]] std::string login() const { return user.empty() ? host : user + "@" + host; }
};

// An IPv6 address with a port is written [address]:port. An IPv6 address without brackets has no
// port. Fails with EINVAL if TEXT is not a target string.
Result<Target> parse_target(std::string_view text);

} // namespace rpmem::initiator
