// SPDX-License-Identifier: BSD-3-Clause
// A client of ssh-agent(1), see draft-miller-ssh-agent. The client in libssh2 waits without a
// bound, and requests RSA signatures that servers do not accept any more.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <string>
#include <vector>

namespace rpmem::initiator::ssh2 {

class Agent {
public:
    struct Identity {
        Bytes public_key;
        std::string comment;
    };

    // SOCKET is the value of SSH_AUTH_SOCK.
    static Result<Agent> connect(const std::string& socket);

    Result<std::vector<Identity>> identities(const Deadline& deadline) const;
    // Returns the signature of DATA, with its type. ALGORITHM selects the hash of an RSA key.
    Result<Bytes> sign(const Bytes& public_key, std::span<const std::byte> data,
                       const std::string& algorithm, const Deadline& deadline) const;

private:
    explicit Agent(UniqueFd socket) : socket_(std::move(socket)) {}
    Result<Bytes> ask(const Bytes& request, std::byte expected, const Deadline& deadline) const;

    UniqueFd socket_;
};

} // namespace rpmem::initiator::ssh2
