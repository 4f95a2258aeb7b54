// SPDX-License-Identifier: BSD-3-Clause
// Which devices the user allows: RPMEM_DEVICE, and the daemon's setting `device`.
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
    std::optional<unsigned> port; // nothing: any
};

// NAME or NAME:PORT, several separated by commas. Empty: all are allowed, and so is the result.
// EINVAL.
[[nodiscard]] Result<std::vector<AllowedDevice>> parse_devices(std::string_view text);

// As parse_devices() reads it.
[[nodiscard]] std::string text_of(const std::vector<AllowedDevice>& allowed);

[[nodiscard]] const Device* find(const std::vector<Device>& devices, std::string_view name);
// The ports of DEVICE that may be used; all if ALLOWED is empty.
[[nodiscard]] std::vector<const Port*> allowed_ports(const Device& device,
                                                     const std::vector<AllowedDevice>& allowed);

} // namespace rpmem::rdma
