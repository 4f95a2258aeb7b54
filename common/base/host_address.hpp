// SPDX-License-Identifier: BSD-3-Clause
// Numeric IPv4 and IPv6 addresses, and the lookup of host names.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"

#include <netdb.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem {

struct HostAddress {
    enum class Family { ipv4, ipv6 };
    Family family = Family::ipv4;
    std::array<std::byte, 16> bytes{}; // IPv4 uses the first four; the others are zero

    bool operator==(const HostAddress&) const = default;
};

// The family of ADDRESS must be AF_INET or AF_INET6.
[[nodiscard]] HostAddress address_of(const sockaddr* address);

using AddressList = std::unique_ptr<addrinfo, FreedBy<::freeaddrinfo>>;
// Like getaddrinfo(3) with FLAGS and FAMILY, but HOST must be numeric, so no name server is
// queried. PORT may be empty. Fails with EINVAL and the text of gai_strerror(3).
[[nodiscard]] Result<AddressList> look_up_number(const std::string& host, const std::string& port,
                                                 int flags = 0, int family = AF_UNSPEC);
// Like look_up_number(), but HOST may be a name. Fails with ETIMEDOUT if the lookup takes longer
// than TIME.
[[nodiscard]] Result<AddressList> look_up(const std::string& host, const std::string& port,
                                          int family, std::chrono::milliseconds time);

// Returns how long the lookup of a name may take within a login of LOGIN_TIME. If no name server
// responds, the login still has time: ssh(1) may know the name from Host in ssh_config(5).
[[nodiscard]] constexpr std::chrono::milliseconds
time_for_names(std::chrono::milliseconds login_time) {
    return login_time / 3;
}

// The scope within which an address identifies one host.
enum class Reach {
    anywhere,
    same_link,    // link-local: the same address may belong to another host on another link
    same_machine, // loopback
    nowhere,      // unspecified or multicast: not the address of a host
};
[[nodiscard]] Reach reach_of(const HostAddress& address);

// Parses a numeric address. A zone ("fe80::1%eth0") is accepted and dropped. An IPv4-mapped IPv6
// address (::ffff:10.0.0.1) becomes the IPv4 address.
[[nodiscard]] std::optional<HostAddress> parse_address(const std::string& text);
[[nodiscard]] std::string text_of(const HostAddress& address);

// Returns the numeric addresses of HOST in the order of getaddrinfo(3): at least 1 and at most 8. A
// numeric HOST is returned in canonical form. Waits like look_up().
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& host,
                                                       std::chrono::milliseconds time);

} // namespace rpmem
