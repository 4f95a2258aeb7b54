// SPDX-License-Identifier: BSD-3-Clause
// Checks the host key of a server.
#pragma once

#include "librpmem/session/ssh2/known_hosts.hpp"
#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator::ssh2 {

// The keys of a server in the known_hosts files of the user. An unknown key is never accepted or
// added.
class HostIdentity {
public:
    // Reads FILES. A missing file counts as empty.
    static Result<HostIdentity> look_up(const std::string& host, std::uint16_t port,
                                        const std::vector<std::string>& files);

    // Returns the algorithms for the handshake. Those of known keys come first, so that a server
    // with several keys sends a known one.
    [[nodiscard]] std::vector<std::string_view> algorithms() const;
    // Fails with EACCES if the key that the server has sent is unknown or revoked. The text says
    // what to do.
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
