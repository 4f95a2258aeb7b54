// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/request_check.hpp"

#include "rpmemd/session/handshake.hpp"

#include <fmt/format.h>

namespace rpmem::target {
namespace {

Result<> check_provider(wire::Provider provider, const wire::Agreement& agreement,
                        bool sockets_allowed) {
    if (provider == wire::Provider::verbs ||
        (provider == wire::Provider::tcp && agreement.lane_frames) ||
        (provider == wire::Provider::sockets && sockets_allowed))
        return {};
    if (provider == wire::Provider::sockets)
        return refuse(wire::Status::provider_not_supported,
                      fmt::format("the provider sockets is switched off: {}; if only trusted hosts "
                                  "reach this machine, set \"sockets = yes\" in "
                                  "/etc/rpmemd/rpmemd.conf or ~/.rpmemd.conf of the target",
                                  danger_of_sockets));
    return refuse(wire::Status::bad_provider,
                  fmt::format("provider {} was requested; 1 is verbs, 2 is sockets, 3 (after "
                              "a hello) is tcp",
                              static_cast<std::uint32_t>(provider)));
}

} // namespace

Result<> check_request(const PoolRequest& request, const wire::Agreement& agreement,
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
