// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/headers/shutdown_state.hpp"

#include "common/pools/checksum.hpp"
#include "rpmemd/pools/files/device.hpp"

namespace rpmem::target {

Result<> add_device_state(DeviceState& sum, int fd, const std::string& path) {
    RPMEM_ASSIGN(auto device, Device::of(fd, path));
    RPMEM_ASSIGN(const auto count, device.unsafe_shutdown_count());
    RPMEM_ASSIGN(auto id, device.id());
    sum.unsafe_shutdown_count += count;
    sum.device_uuid += device_id_checksum(std::move(id));
    return {};
}

std::uint64_t device_id_checksum(std::string id) {
    id.resize(id.size() + (4 - id.size() % 4), '\0');
    return fletcher_checksum(std::as_bytes(std::span(id)));
}

std::uint64_t shutdown_state_checksum(const ShutdownState& state) {
    return fletcher_checksum(std::as_bytes(std::span(&state, 1)),
                             offsetof(ShutdownState, checksum));
}

ShutdownState make_shutdown_state(const DeviceState& devices, bool dirty) {
    ShutdownState state{};
    state.unsafe_shutdown_count = devices.unsafe_shutdown_count;
    state.device_uuid = devices.device_uuid;
    state.dirty = dirty ? 1 : 0;
    state.checksum = shutdown_state_checksum(state);
    return state;
}

Result<> check_shutdown_state(const ShutdownState& state, const DeviceState& devices,
                              const std::string& pool) {
    const bool readable = state.checksum == shutdown_state_checksum(state);
    const bool same = state.unsafe_shutdown_count == devices.unsafe_shutdown_count &&
                      state.device_uuid == devices.device_uuid;
    if (!readable || same || state.dirty == 0)
        return {};
    return invalid("pool {} was open when its devices lost power or were exchanged (unsafe "
                   "shutdown count then {}, now {}; device id then {:#x}, now {:#x}): its data "
                   "cannot be trusted; restore it from a replica",
                   pool, state.unsafe_shutdown_count, devices.unsafe_shutdown_count,
                   state.device_uuid, devices.device_uuid);
}

} // namespace rpmem::target
