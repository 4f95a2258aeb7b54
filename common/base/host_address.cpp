// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/host_address.hpp"

#include "common/base/call_within.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace rpmem {
namespace {

constexpr std::size_t max_addresses = 8;

constexpr std::size_t ipv4_size = 4;

// ::ffff:0:0/96, see RFC 4291.
constexpr std::array<std::byte, 12> mapped_prefix = {
    std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
    std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}};

// Converts an IPv4-mapped IPv6 address to the IPv4 address. Returns other addresses unchanged.
HostAddress unmapped(const HostAddress& address) {
    if (address.family == HostAddress::Family::ipv4 ||
        !std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin()))
        return address;
    HostAddress inner;
    std::copy_n(address.bytes.begin() + mapped_prefix.size(), ipv4_size, inner.bytes.begin());
    return inner;
}

Reach reach_of_ipv4(unsigned first, unsigned second) {
    constexpr unsigned first_of_groups = 224; // multicast, then reserved up to 255
    if (first == 127)
        return Reach::same_machine;
    if (first == 0 || first >= first_of_groups)
        return Reach::nowhere;
    return first == 169 && second == 254 ? Reach::same_link : Reach::anywhere;
}

Reach reach_of_ipv6(const in6_addr& address) {
    if (IN6_IS_ADDR_LOOPBACK(&address))
        return Reach::same_machine;
    if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address))
        return Reach::nowhere;
    return IN6_IS_ADDR_LINKLOCAL(&address) ? Reach::same_link : Reach::anywhere;
}

// The arguments and the result of a lookup. A thread that outlives its call owns them.
struct Lookup {
    std::string host;
    std::string port;
    addrinfo hints{};
    AddressList list{};
    int code = EAI_MEMORY; // the error if run() throws

    void run() {
        addrinfo* found = nullptr;
        code = ::getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &found);
        if (code == 0)
            list.reset(found);
    }
    Result<AddressList> result() {
        if (code != 0)
            return invalid("{}", ::gai_strerror(code));
        return std::move(list);
    }
};

addrinfo hints_of(int flags, int family) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    return hints;
}

} // namespace

HostAddress address_of(const sockaddr* address) {
    HostAddress made;
    if (address->sa_family == AF_INET) {
        std::memcpy(made.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr,
                    ipv4_size);
    } else {
        made.family = HostAddress::Family::ipv6;
        std::memcpy(made.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                    made.bytes.size());
    }
    return made;
}

Result<AddressList> look_up_number(const std::string& host, const std::string& port, int flags,
                                   int family) {
    Lookup lookup{.host = host, .port = port, .hints = hints_of(flags | AI_NUMERICHOST, family)};
    lookup.run();
    return lookup.result();
}

Result<AddressList> look_up(const std::string& host, const std::string& port, int family,
                            std::chrono::milliseconds time) {
    if (auto number = look_up_number(host, port, 0, family))
        return number;
    const auto lookup =
        std::make_shared<Lookup>(Lookup{.host = host, .port = port, .hints = hints_of(0, family)});
    RPMEM_TRY(
        in_context("the resolver of this machine", call_within(time, [lookup] { lookup->run(); })));
    return lookup->result();
}

Reach reach_of(const HostAddress& given) {
    const HostAddress address = unmapped(given);
    if (address.family == HostAddress::Family::ipv4)
        return reach_of_ipv4(std::to_integer<unsigned>(address.bytes[0]),
                             std::to_integer<unsigned>(address.bytes[1]));
    in6_addr ipv6;
    std::memcpy(&ipv6, address.bytes.data(), sizeof(ipv6));
    return reach_of_ipv6(ipv6);
}

std::optional<HostAddress> parse_address(const std::string& text) {
    const std::string number = text.substr(0, text.find('%'));
    HostAddress address;
    if (::inet_pton(AF_INET, number.c_str(), address.bytes.data()) == 1)
        return address;
    address.family = HostAddress::Family::ipv6;
    if (::inet_pton(AF_INET6, number.c_str(), address.bytes.data()) == 1)
        return unmapped(address);
    return std::nullopt;
}

std::string text_of(const HostAddress& address) {
    const int family = address.family == HostAddress::Family::ipv4 ? AF_INET : AF_INET6;
    std::array<char, INET6_ADDRSTRLEN> text{};
    return ::inet_ntop(family, address.bytes.data(), text.data(), text.size()) ? text.data() : "";
}

Result<std::vector<std::string>> resolve(const std::string& host, std::chrono::milliseconds time) {
    RPMEM_ASSIGN(const AddressList found, look_up(host, "", AF_UNSPEC, time));
    std::vector<std::string> addresses;
    for (const addrinfo* one = found.get(); one && addresses.size() < max_addresses;
         one = one->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                          NI_NUMERICHOST) == 0)
            addresses.emplace_back(text.data());
    }
    if (addresses.empty())
        return invalid("no usable address");
    return addresses;
}

} // namespace rpmem
