// SPDX-License-Identifier: BSD-3-Clause
// The keys of a session, derived from its secret: those of the lane handshake and of TLS, and the
// key by which a later session takes over the pool.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/secret.hpp"

#include <array>
#include <cstddef>

namespace rpmem::transport {

using SessionId = std::array<std::byte, 8>;
// The connection request of a lane over libfabric contains a token. It is visible on the network,
// so it authenticates nobody. But a request without it gets no memory.
using Token = std::array<std::byte, 16>; // the same type as wire::Token

struct SessionKeys {
    Secret lane;
    Secret tls;      // the pre-shared key
    Secret takeover; // proves that a later session may take over the pool of this one
    SessionId id;    // public
    Token token;
};
[[nodiscard]] Result<SessionKeys> derive_keys(const Secret& secret);

} // namespace rpmem::transport
