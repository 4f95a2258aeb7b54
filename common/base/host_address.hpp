// SPDX-License-Identifier: BSD-3-Clause
// Addresses of hosts, as numbers.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"

#include <netdb.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem {

struct HostAddress {
    enum class Family { ipv4, ipv6 };
    Family family = Family::ipv4;
    std::array<std::byte, 16> bytes{}; // of IPv4 the first four; the others are zero

    bool operator==(const HostAddress&) const = default;
};

// ADDRESS is one of IPv4 or of IPv6.
[[nodiscard]] HostAddress address_of(const sockaddr* address);

using AddressList = std::unique_ptr<addrinfo, FreedBy<::freeaddrinfo>>;
// As getaddrinfo(3), with its FLAGS and FAMILY. PORT: "" for none. EINVAL, with the words for why.
[[nodiscard]] Result<AddressList> look_up(const std::string& host, const std::string& port,
                                          int flags, int family = AF_UNSPEC);

// From where an address leads to the host that has it.
enum class Reach {
    anywhere,
    same_link,    // link-local: another link has another host of this address
    same_machine, // loopback
    nowhere,      // none of a host: unspecified, or of a group
};
[[nodiscard]] Reach reach_of(const HostAddress& address);

// TEXT is a number, with or without a zone ("fe80::1%eth0"), which is not kept. An IPv4 address
// within one of IPv6 (::ffff:10.0.0.1) counts as what it stands for.
[[nodiscard]] std::optional<HostAddress> parse_address(const std::string& text);
[[nodiscard]] std::string text_of(const HostAddress& address);

// The addresses of a name, or the number itself, as numbers and in the order in which the resolver
// prefers them; 8 at most. Empty: it has none that is known here.
[[nodiscard]] std::vector<std::string> resolve(const std::string& host);

} // namespace rpmem
