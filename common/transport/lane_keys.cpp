// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/lane_keys.hpp"

#include "common/transport/crypto.hpp"

#include <cerrno>
#include <utility>

namespace rpmem::transport {

Result<SessionKeys> derive_keys(const Secret& secret) {
    RPMEM_ASSIGN(auto lane, Secret::make());
    RPMEM_ASSIGN(auto tls, Secret::make());
    RPMEM_ASSIGN(auto takeover, Secret::make());
    SessionId id;
    Token token;
    if (!hkdf_sha256(secret.bytes(), "rpmem lane 1", lane.bytes()) ||
        !hkdf_sha256(secret.bytes(), "rpmem tls 1", tls.bytes()) ||
        !hkdf_sha256(secret.bytes(), "rpmem takeover 1", takeover.bytes()) ||
        !hkdf_sha256(secret.bytes(), "rpmem id 1", id) ||
        !hkdf_sha256(secret.bytes(), "rpmem token 1", token))
        return fail_errno(ErrorClass::resource_limit, ENOMEM,
                          "libcrypto cannot derive the keys of the lanes");
    return SessionKeys{.lane = std::move(lane),
                       .tls = std::move(tls),
                       .takeover = std::move(takeover),
                       .id = id,
                       .token = token};
}

} // namespace rpmem::transport
