// SPDX-License-Identifier: BSD-3-Clause
// The address of this machine at which the way to a host begins.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::rdma {

struct LocalEnd {
    std::string problem;     // why it is not known; then the rest is empty
    std::string address;     // of this machine
    std::string interface;   // that has the address
    bool loopback = false;   // the address is one
    bool infiniband = false; // the interface is IP over InfiniBand
};

// Of the route to HOST, a name or an address. Asks the resolver; sends nothing to HOST.
[[nodiscard]] LocalEnd local_end_to(const std::string& host,
                                    const std::filesystem::path& root = "/");
// Of ADDRESS, which is one of this machine.
[[nodiscard]] LocalEnd local_end_at(const std::string& address,
                                    const std::filesystem::path& root = "/");

// The addresses of an interface.
[[nodiscard]] std::vector<std::string> addresses_of(std::string_view interface);
// The first of them from which a connection to a peer of PEER's kind (IPv4; IPv6, link-local or
// not) can begin; empty if there is none.
[[nodiscard]] std::string address_like(std::string_view interface, const std::string& peer);

} // namespace rpmem::rdma
