// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/request_check.hpp"

#include "rpmemd/session/handshake.hpp"

#include <fmt/format.h>

namespace rpmem::target {
namespace {

constexpr const char* never_released =
    "the initiator's lanes are of a version that was never released: update the library there";

Granted<> check_provider(wire::Provider provider, const wire::Agreement& agreement,
                         bool sockets_allowed) {
    switch (provider) {
    case wire::Provider::verbs:
        if (agreement.lane_frames || !agreement.knows_hello)
            return {};
        return refuse(wire::Status::provider_not_supported, never_released);
    case wire::Provider::sockets:
        if (sockets_allowed && agreement.knows_hello && !agreement.lane_frames)
            return refuse(wire::Status::provider_not_supported, never_released);
        if (sockets_allowed)
            return {};
        return refuse(wire::Status::provider_not_supported,
                      fmt::format("the provider sockets is switched off: {}; if only trusted hosts "
                                  "reach this machine, set \"sockets = yes\" in "
                                  "/etc/rpmemd/rpmemd.conf or ~/.rpmemd.conf of the target",
                                  danger_of_sockets));
    case wire::Provider::tcp:
        if (agreement.lane_frames)
            return {};
        if (agreement.knows_hello)
            return refuse(wire::Status::provider_not_supported, never_released);
        break;
    }
    return refuse(wire::Status::bad_provider,
                  fmt::format("provider number {} is not known; 1 is verbs, 2 is sockets, 3 (after "
                              "a hello) is tcp",
                              static_cast<std::uint32_t>(provider)));
}

} // namespace

Granted<> check_request(const PoolRequest& request, const wire::Agreement& agreement,
                        const Configuration& configuration) {
    if (request.lanes == 0)
        return refuse(wire::Status::bad_lanes, "0 lanes were requested; the minimum is 1");
    RPMEM_TRY(check_provider(request.provider, agreement, configuration.sockets));
    if (configuration.tls == UseTls::require &&
        (request.provider != wire::Provider::tcp || !agreement.tls))
        return refuse(wire::Status::provider_not_supported,
                      "lanes without TLS are refused here (tls = require); set RPMEM_TLS=on at "
                      "the initiator, and let tcp serve");
    if (request.inline_size > max_inline_bytes)
        return refuse(wire::Status::bad_protocol,
                      fmt::format("messages of {} bytes of inline data were requested; the limit "
                                  "is {}",
                                  request.inline_size, max_inline_bytes));
    return {};
}

} // namespace rpmem::target
