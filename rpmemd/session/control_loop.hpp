// SPDX-License-Identifier: BSD-3-Clause
// The control loop of a session, which serves the requests on the control channel.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/session/handshake.hpp"
#include "rpmemd/session/session.hpp"
#include "rpmemd/settings/configuration.hpp"

namespace rpmem::target {

struct Channel {
    int input;
    int output;
    int error; // error texts for the user; ssh sends them to the initiator
    SessionAddresses addresses;
};

// Returns the first and the third field of SSH_CONNECTION. A field that is not a numeric address
// becomes empty.
SessionAddresses addresses_of(const char* ssh_connection);

// Serves requests until the session ends. Returns the exit status: 0 after CLOSE or a refused
// LOGIN, CREATE, OPEN or CLOSE, and 1 after any other end, such as a malformed request, the end of
// the input, a signal or a failure of the medium.
int serve_session(const Configuration& configuration, const Channel& channel,
                  HandshakeResult handshake, Log& log);

} // namespace rpmem::target
