// SPDX-License-Identifier: BSD-3-Clause
// Addresses of hosts, as numbers.
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
    std::array<std::byte, 16> bytes{}; // of IPv4 the first four; the others are zero

    bool operator==(const HostAddress&) const = default;
};

// ADDRESS is one of IPv4 or of IPv6.
[[nodiscard]] HostAddress address_of(const sockaddr* address);

using AddressList = std::unique_ptr<addrinfo, FreedBy<::freeaddrinfo>>;
// Like getaddrinfo(3) with FLAGS and FAMILY, but HOST must be a number: nobody is asked. PORT: ""
// for none. EINVAL with the text of gai_strerror(3).
[[nodiscard]] Result<AddressList> look_up_number(const std::string& host, const std::string& port,
                                                 int flags = 0, int family = AF_UNSPEC);
// The same for a number or a name. Name servers are waited for, for at most TIME: then ETIMEDOUT.
[[nodiscard]] Result<AddressList> look_up(const std::string& host, const std::string& port,
                                          int family, std::chrono::milliseconds time);

// How long the lookup of a name may take within a login of LOGIN_TIME. A name that only ssh(1)
// knows (Host in ssh_config(5)) leaves time for the login although no name server answers.
[[nodiscard]] constexpr std::chrono::milliseconds
time_for_names(std::chrono::milliseconds login_time) {
    return login_time / 3;
}

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
// prefers them; at least one, and at most 8. Waits like look_up().
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& host,
                                                       std::chrono::milliseconds time);

} // namespace rpmem
