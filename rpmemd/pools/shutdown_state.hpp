// SPDX-License-Identifier: BSD-3-Clause
// The shutdown state (SDS): did the devices lose power while the pool was open?
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/pool_header.hpp"

#include <cstdint>
#include <string>

namespace rpmem::target {

// The state of the devices under a pool, summed over its parts.
struct DeviceState {
    std::uint64_t unsafe_shutdown_count = 0;
    std::uint64_t device_uuid = 0;
};

// Adds what the device under FD says. Devices that say nothing add nothing.
Result<> add_device_state(DeviceState& sum, int fd, const std::string& path);

// The checksum of a device's id, padded with zeros as the format demands.
std::uint64_t device_id_checksum(std::string id);

std::uint64_t shutdown_state_checksum(const ShutdownState& state);

// A sealed state for a pool that is open (DIRTY) or closed.
ShutdownState make_shutdown_state(const DeviceState& devices, bool dirty);

// EINVAL if the pool was open when its devices lost power. POOL names it in the message.
Result<> check_shutdown_state(const ShutdownState& state, const DeviceState& devices,
                              const std::string& pool);

} // namespace rpmem::target
