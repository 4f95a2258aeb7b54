// SPDX-License-Identifier: BSD-3-Clause
// The RDMA devices that the user allows, from RPMEM_DEVICE or the daemon's setting `device`.
#pragma once

#include "common/base/result.hpp"
#include "common/rdma/devices.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::rdma {

struct AllowedDevice {
    std::string name;
    std::optional<unsigned> port; // any port if there is none
};

// Parses a list of NAME or NAME:PORT, separated by commas. An empty text allows all devices and
// gives an empty result. Fails with EINVAL.
[[nodiscard]] Result<std::vector<AllowedDevice>> parse_devices(std::string_view text);

// Returns the text that parse_devices() accepts.
[[nodiscard]] std::string text_of(const std::vector<AllowedDevice>& allowed);

[[nodiscard]] const Device* find(const std::vector<Device>& devices, std::string_view name);
// Returns the ports of DEVICE that ALLOWED permits: all if ALLOWED is empty.
[[nodiscard]] std::vector<const Port*> allowed_ports(const Device& device,
                                                     const std::vector<AllowedDevice>& allowed);

} // namespace rpmem::rdma
