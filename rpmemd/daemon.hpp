// One session: the control loop between the out-of-band channel, the pool and the lanes.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/handshake.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>

namespace rpmem::target {

struct Channel {
    int input;
    int output;
    int error;               // text for the peer's user; ssh carries it to the initiator
    std::string own_address; // on which the peer arrived; empty if not known
};

// What sshd says of the connection (SSH_CONNECTION, see ssh(1)): the third field is our address.
std::string own_address_of(const char* ssh_connection);

// Serves requests until the session ends. Returns the exit status: 0 after CLOSE or a refused
// request, 1 after anything that is not in the protocol, the end of the input included.
int serve_session(const Configuration& configuration, const Channel& channel,
                  HandshakeResult handshake, Log& log);

} // namespace rpmem::target
