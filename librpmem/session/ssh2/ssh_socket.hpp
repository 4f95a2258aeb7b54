// SPDX-License-Identifier: BSD-3-Clause
// The TCP connection to the ssh server.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace rpmem::initiator::ssh2 {

// A non-blocking socket. All addresses of HOST are tried, each for its share of the time.
Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, bool force_ipv4,
                            const Deadline& deadline);

// The peer's address of SOCKET, as a number; empty if that is not known.
std::string peer_of(int socket);

} // namespace rpmem::initiator::ssh2
