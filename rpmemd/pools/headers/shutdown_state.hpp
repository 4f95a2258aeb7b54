// SPDX-License-Identifier: BSD-3-Clause
// The shutdown state (SDS) in a header shows whether the devices lost power while the pool was
// open.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <cstdint>
#include <string>

namespace rpmem::target {

// The state of the devices under a pool, summed over its parts.
struct DeviceState {
    std::uint64_t unsafe_shutdown_count = 0;
    std::uint64_t device_uuid = 0;
};

// Adds the state of the device under FD. Adds nothing if the platform does not report it.
Result<> add_device_state(DeviceState& sum, int fd, const std::string& path);

// Returns the checksum of a device id. The format requires 1 to 4 zeros after it.
std::uint64_t device_id_checksum(std::string id);

std::uint64_t shutdown_state_checksum(const ShutdownState& state);

// Returns a state with its checksum, for a pool that is open (DIRTY) or closed.
ShutdownState make_shutdown_state(const DeviceState& devices, bool dirty);

// Fails with EINVAL if the pool was open when its devices lost power or were exchanged. Accepts a
// state with a wrong checksum: a torn write is no evidence of either. POOL is for the error text.
Result<> check_shutdown_state(const ShutdownState& state, const DeviceState& devices,
                              const std::string& pool);

} // namespace rpmem::target
