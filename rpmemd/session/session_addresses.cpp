// SPDX-License-Identifier: BSD-3-Clause
// Reads the addresses of the connection that sshd has accepted.
#include "rpmemd/session/control_loop.hpp"

#include <netdb.h>

#include <sstream>
#include <string>

namespace rpmem::target {
namespace {

// TEXT if it is an address. No name is looked up for what sshd, or whoever started us, says.
std::string numeric(const std::string& text) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (text.empty() || ::getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0)
        return {};
    ::freeaddrinfo(found);
    return text;
}

} // namespace

SessionAddresses addresses_of(const char* ssh_connection) {
    std::istringstream fields(ssh_connection ? ssh_connection : "");
    std::string client;
    std::string client_port;
    std::string own;
    fields >> client >> client_port >> own;
    return {.own = numeric(own), .client = numeric(client)};
}

} // namespace rpmem::target
