// Somebody on the network who may not use the pool, and does not stop trying.
#pragma once

#include "common/base/result.hpp"

#include <sys/socket.h>

#include <optional>

namespace rpmem::bench {

// Where the youngest TCP connection of this process leads to, which is a lane's.
[[nodiscard]] std::optional<sockaddr_storage> youngest_peer();

// Connects to LANES_AT 200 times a second, until something comes from CONTROL; then it tells how
// many connections there were.
void come_as_strangers(int control, const sockaddr_storage& lanes_at);

} // namespace rpmem::bench
