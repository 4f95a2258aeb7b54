// SPDX-License-Identifier: BSD-3-Clause
// The local address and interface of a route.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::rdma {

struct LocalEnd {
    std::string problem; // why the local end is unknown; then the other fields are empty
    std::string address;
    std::string interface;   // the interface with that address
    bool loopback = false;   // the address is a loopback address
    bool infiniband = false; // the interface is IP over InfiniBand
};

// Returns the local end of the route to HOST, a numeric address. Sends nothing to HOST.
[[nodiscard]] LocalEnd local_end_to(const std::string& host,
                                    const std::filesystem::path& root = "/");
// Returns the local end with ADDRESS, an address of this machine.
[[nodiscard]] LocalEnd local_end_at(const std::string& address,
                                    const std::filesystem::path& root = "/");

[[nodiscard]] std::vector<std::string> addresses_of(std::string_view interface);
// Returns the first address of INTERFACE that can connect to PEER: both are IPv4, or both are IPv6
// and both or neither are link-local. Returns an empty string if there is none.
[[nodiscard]] std::string address_like(std::string_view interface, const std::string& peer);

} // namespace rpmem::rdma
