// SPDX-License-Identifier: BSD-3-Clause
// The state that rpmem_replica_state() returns.
#pragma once

#include "librpmem/connection/replica_report.hpp"

#include <librpmem.h>

namespace rpmem::initiator {

[[nodiscard]] rpmem_replica_state_info public_replica_state(const ReplicaReport& report);

} // namespace rpmem::initiator
