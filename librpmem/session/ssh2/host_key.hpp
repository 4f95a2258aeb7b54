// SPDX-License-Identifier: BSD-3-Clause
// Is the server the one that it should be?
#pragma once

#include "librpmem/session/ssh2/known_hosts.hpp"
#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator::ssh2 {

// The server as the user knows it: no key is taken on trust, and none is added.
class HostIdentity {
public:
    // Reads FILES; those that are not there count as empty.
    static Result<HostIdentity> look_up(const std::string& host, std::uint16_t port,
                                        const std::vector<std::string>& files);

    // For the handshake: the types of the known keys come first, so that a server that has others
    // as well shows one that can be compared.
    [[nodiscard]] std::vector<std::string_view> algorithms() const;
    // EACCES with what to do, if the key that the server has shown is not one of the known.
    [[nodiscard]] Result<> check(const Ssh2Session& session) const;

private:
    HostIdentity(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}
    [[nodiscard]] Failure refuse(const std::string& shown_type, const std::string& shown) const;

    std::string host_;
    std::uint16_t port_;
    std::string files_; // for messages
    std::vector<KnownKey> known_;
};

} // namespace rpmem::initiator::ssh2
