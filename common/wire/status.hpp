// SPDX-License-Identifier: BSD-3-Clause
// The status of a response: success, or why the target refused the request.
#pragma once

#include <cstdint>
#include <string>

namespace rpmem::wire {

enum class Status : std::uint32_t {
    success = 0,
    bad_protocol = 1,
    bad_name = 2,
    bad_size = 3,
    bad_lanes = 4,
    bad_provider = 5,
    fatal = 6,
    fatal_connection = 7,
    busy = 8,
    exists = 9,
    provider_not_supported = 10,
    not_found = 11,
    no_access = 12,
    pool_configuration = 13,
    medium_failed = 14, // only in MEDIUM_FAILURE, see common/wire/unsolicited.hpp
    stale = 15,         // only after a hello: the pool has changed since an earlier generation, or
                        // it is catching up and the initiator cannot compare it
    bad_state = 16,     // only to SET_REPLICA_STATE
};

// Returns the errno value that the API reports: 0 for success, EREMOTEIO for an unknown status.
[[nodiscard]] int errno_of(Status status);

// Returns a short text, also for an unknown status.
[[nodiscard]] std::string describe(Status status);

} // namespace rpmem::wire
