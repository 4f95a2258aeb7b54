// SPDX-License-Identifier: BSD-3-Clause
// One session: the control loop between the out-of-band channel, the pool and the lanes.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/handshake.hpp"
#include "rpmemd/session.hpp"
#include "rpmemd/settings/configuration.hpp"

namespace rpmem::target {

struct Channel {
    int input;
    int output;
    int error; // text for the peer's user; ssh carries it to the initiator
    SessionAddresses addresses;
};

// The first and the third field of SSH_CONNECTION, as far as they are addresses.
SessionAddresses addresses_of(const char* ssh_connection);

// Serves requests until the session ends. Returns the exit status: 0 after CLOSE or a refused
// request, 1 after anything that is not in the protocol, the end of the input included.
int serve_session(const Configuration& configuration, const Channel& channel,
                  HandshakeResult handshake, Log& log);

} // namespace rpmem::target
