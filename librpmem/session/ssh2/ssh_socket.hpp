// SPDX-License-Identifier: BSD-3-Clause
// The TCP connection to the ssh server.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace rpmem::initiator::ssh2 {

// Returns a connected, non-blocking socket. Tries all addresses of HOST. Each gets an equal share
// of the remaining time.
Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, bool force_ipv4,
                            const Deadline& deadline);

// Returns the numeric address of the peer of SOCKET, or an empty string if it is unknown.
std::string peer_of(int socket);

} // namespace rpmem::initiator::ssh2
