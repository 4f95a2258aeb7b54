// SPDX-License-Identifier: BSD-3-Clause
// find_to_connect() and find_to_listen() with a choice of RDMA devices, and with words for why none
// of them can be used.
#pragma once

#include "common/rdma/diagnosis.hpp"
#include "common/transport/fabric/provider.hpp"

#include <string>

namespace rpmem::fabric {

// The providers that the user allows, each with its name.
struct DeviceSetting {
    const char* name;  // of the setting
    std::string value; // see common/rdma/choice.hpp; empty: all
};

// HOST is a number.
[[nodiscard]] Result<Provider> search_to_connect(ProviderKind kind, const std::string& host,
                                                 const std::string& service, QueueSizes queues,
                                                 const DeviceSetting& setting);
[[nodiscard]] Result<Provider> search_to_listen(ProviderKind kind, const std::string& address,
                                                const std::string& service, QueueSizes queues,
                                                const DeviceSetting& setting);

// The devices of this machine as they are now. EINVAL: the setting cannot be read.
[[nodiscard]] Result<rdma::RdmaFacts> look_around(const DeviceSetting& setting);

} // namespace rpmem::fabric
