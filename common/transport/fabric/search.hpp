// SPDX-License-Identifier: BSD-3-Clause
// find_to_connect() and find_to_listen(), limited to the RDMA devices that the user allows. The
// error texts state why no device can be used.
#pragma once

#include "common/rdma/diagnosis.hpp"
#include "common/transport/fabric/provider.hpp"

#include <string>

namespace rpmem::fabric {

struct DeviceSetting {
    const char* name;  // RPMEM_DEVICE or `device`, for error texts
    std::string value; // see common/rdma/choice.hpp; empty: all devices
};

// HOST and ADDRESS are numeric addresses.
[[nodiscard]] Result<Provider> search_to_connect(ProviderKind kind, const std::string& host,
                                                 const std::string& service, QueueSizes queues,
                                                 const DeviceSetting& setting);
[[nodiscard]] Result<Provider> search_to_listen(ProviderKind kind, const std::string& address,
                                                const std::string& service, QueueSizes queues,
                                                const DeviceSetting& setting);

// Reads the devices of this machine from sysfs. Fails with EINVAL if the value of SETTING is
// malformed.
[[nodiscard]] Result<rdma::RdmaFacts> look_around(const DeviceSetting& setting);

} // namespace rpmem::fabric
