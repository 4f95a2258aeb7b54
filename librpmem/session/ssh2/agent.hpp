// SPDX-License-Identifier: BSD-3-Clause
// A client of ssh-agent(1); see draft-miller-ssh-agent. libssh2 has one too, but it waits without
// a bound, and signs with RSA keys as no server of today accepts.
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

    // SOCKET is what SSH_AUTH_SOCK names.
    static Result<Agent> connect(const std::string& socket);

    Result<std::vector<Identity>> identities(const Deadline& deadline) const;
    // The signature of DATA, with its type. ALGORITHM: how an RSA key should sign.
    Result<Bytes> sign(const Bytes& public_key, std::span<const std::byte> data,
                       const std::string& algorithm, const Deadline& deadline) const;

private:
    explicit Agent(UniqueFd socket) : socket_(std::move(socket)) {}
    Result<Bytes> ask(const Bytes& request, std::byte expected, const Deadline& deadline) const;

    UniqueFd socket_;
};

} // namespace rpmem::initiator::ssh2
