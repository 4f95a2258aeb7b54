// SPDX-License-Identifier: BSD-3-Clause
// The checks of a request for a pool that do not depend on the pool.
#pragma once

#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "rpmemd/session/request_refusal.hpp"
#include "rpmemd/settings/configuration.hpp"

namespace rpmem::target {

// The fields that CREATE and OPEN have in common.
using PoolRequest = wire::OpenRequest;

inline constexpr const char* danger_of_sockets =
    "through libfabric's sockets whoever reaches the port can end a session or make it hang, and a "
    "client can write outside of its pool";

[[nodiscard]] Result<> check_request(const PoolRequest& request, const wire::Agreement& agreement,
                                     const Configuration& configuration);

} // namespace rpmem::target
