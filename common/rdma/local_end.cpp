// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/local_end.hpp"

#include "common/base/freed_by.hpp"
#include "common/base/host_address.hpp"
#include "common/base/unique_fd.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <memory>

namespace rpmem::rdma {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, FreedBy<::freeifaddrs>>;

Interfaces interfaces() {
    ifaddrs* list = nullptr;
    return Interfaces(::getifaddrs(&list) == 0 ? list : nullptr);
}

bool is_ip(const sockaddr* address) {
    return address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

bool is_link_local(const sockaddr* address) {
    return address->sa_family == AF_INET6 && reach_of(address_of(address)) == Reach::same_link;
}

// Returns null and sets PROBLEM if HOST is not a numeric address.
AddressList find(const std::string& host, std::string& problem) {
    auto found = look_up_number(host, "");
    if (!found)
        problem = fmt::format("{} is not an address: {}", host, found.error().text);
    return std::move(found).value_or(nullptr);
}

std::string interface_with(const sockaddr* address) {
    const Interfaces list = interfaces();
    for (const ifaddrs* entry = list.get(); entry; entry = entry->ifa_next)
        if (is_ip(entry->ifa_addr) && address_of(entry->ifa_addr) == address_of(address))
            return entry->ifa_name;
    return {};
}

LocalEnd describe_end(const sockaddr* address, const std::filesystem::path& root) {
    LocalEnd end;
    end.address = text_of(address_of(address));
    end.loopback = reach_of(address_of(address)) == Reach::same_machine;
    end.interface = interface_with(address);
    int type = 0;
    std::ifstream(root / "sys/class/net" / end.interface / "type") >> type;
    end.infiniband = type == ARPHRD_INFINIBAND;
    if (end.interface.empty())
        end.problem = end.address + " is not an address of this machine";
    return end;
}

} // namespace

LocalEnd local_end_to(const std::string& host, const std::filesystem::path& root) {
    LocalEnd unknown;
    const AddressList found = find(host, unknown.problem);
    if (!found)
        return unknown;
    // connect(2) on a datagram socket looks the route up and sends nothing, so any port will do.
    sockaddr_storage peer{};
    std::memcpy(&peer, found->ai_addr, found->ai_addrlen);
    if (peer.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6*>(&peer)->sin6_port = htons(9);
    else
        reinterpret_cast<sockaddr_in*>(&peer)->sin_port = htons(9);
    const UniqueFd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    if (!socket ||
        ::connect(socket.get(), reinterpret_cast<sockaddr*>(&peer), found->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
        unknown.problem = fmt::format("there is no route to {}", host);
        return unknown;
    }
    return describe_end(reinterpret_cast<const sockaddr*>(&own), root);
}

LocalEnd local_end_at(const std::string& address, const std::filesystem::path& root) {
    LocalEnd unknown;
    const AddressList found = find(address, unknown.problem);
    return found ? describe_end(found->ai_addr, root) : unknown;
}

std::vector<std::string> addresses_of(std::string_view interface) {
    std::vector<std::string> addresses;
    const Interfaces list = interfaces();
    for (const ifaddrs* entry = list.get(); entry; entry = entry->ifa_next)
        if (is_ip(entry->ifa_addr) && interface == entry->ifa_name)
            addresses.push_back(text_of(address_of(entry->ifa_addr)));
    return addresses;
}

std::string address_like(std::string_view interface, const std::string& peer) {
    std::string problem;
    const AddressList found = find(peer, problem);
    const Interfaces list = interfaces();
    for (const ifaddrs* entry = list.get(); found && entry; entry = entry->ifa_next)
        if (is_ip(entry->ifa_addr) && interface == entry->ifa_name &&
            entry->ifa_addr->sa_family == found->ai_family &&
            is_link_local(entry->ifa_addr) == is_link_local(found->ai_addr))
            return text_of(address_of(entry->ifa_addr));
    return {};
}

} // namespace rpmem::rdma
