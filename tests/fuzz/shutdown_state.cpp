// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the shutdown state in a pool's header, and the name of a device. A pool whose devices lost
// power while it was open and that is accepted, or a closed pool that is refused, fails.
#include "rpmemd/pools/headers/shutdown_state.hpp"

#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

void check_made(const DeviceState& devices, bool dirty) {
    const ShutdownState made = make_shutdown_state(devices, dirty);
    require(made.checksum == shutdown_state_checksum(made), "a state that was made is sealed");
    require(check_shutdown_state(made, devices, "pool").has_value(),
            "devices that did not change are trusted");
    DeviceState changed = devices;
    ++changed.unsafe_shutdown_count;
    require(check_shutdown_state(made, changed, "pool").has_value() == !dirty,
            "a pool that was open when its devices lost power is not trusted");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const bool sealed = (input.take_value<std::uint8_t>() & 1) != 0;
    auto state = input.take_value<ShutdownState>();
    const auto devices = input.take_value<DeviceState>();
    static_cast<void>(device_id_checksum(input.take_text()));
    if (sealed)
        state.checksum = shutdown_state_checksum(state);
    const auto checked = check_shutdown_state(state, devices, "pool");
    if (!checked) {
        fuzz::require_error(checked.error(), {EINVAL});
        require(state.dirty != 0 && state.checksum == shutdown_state_checksum(state),
                "only a state that can be read, of an open pool, is a reason to refuse");
    }
    check_made(devices, state.dirty != 0);
    return 0;
}
