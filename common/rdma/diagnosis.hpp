// SPDX-License-Identifier: BSD-3-Clause
// Why RDMA cannot be used, and how to mend it. A diagnosis names one cause: the one that must be
// removed first.
#pragma once

#include "common/rdma/choice.hpp"
#include "common/rdma/devices.hpp"
#include "common/rdma/local_end.hpp"

#include <string>
#include <vector>

namespace rpmem::rdma {

enum class Fault {
    none,                // this machine shows no fault
    excluded,            // FI_PROVIDER does not let libfabric use verbs
    no_subsystem,        // the RDMA subsystem of the kernel is not loaded
    no_device,           // the kernel has no RDMA device
    unknown_device,      // none of the devices and ports in the setting exists
    no_connections,      // the device has no connected queue pairs
    no_module,           // ib_uverbs is not loaded
    no_device_file,      // a file is missing in /dev/infiniband
    no_permission,       // this user may not open a file in /dev/infiniband
    no_active_port,      // no allowed port is active
    no_address,          // the local end of the route is unknown
    wrong_link_layer,    // the route starts on Ethernet, and all allowed devices are InfiniBand
    not_an_rdma_address, // the route starts on an interface without an RDMA device
    other_device,        // the route starts at a device that is not allowed or not usable
};

struct Diagnosis {
    Fault fault = Fault::none;
    std::string text; // empty without a fault
};

// The RDMA devices of this machine, and what the user allows.
struct RdmaFacts {
    Devices devices;
    std::vector<AllowedDevice> allowed; // empty: all
    const char* setting;                // the name of the setting: RPMEM_DEVICE or `device`
    std::string providers;              // FI_PROVIDER; empty: all
};

// Why DEVICE cannot be used on any route.
[[nodiscard]] Diagnosis diagnose_device(const Device& device, const RdmaFacts& facts);
// Why no allowed device can be used on any route.
[[nodiscard]] Diagnosis diagnose_devices(const RdmaFacts& facts);
// Why no allowed device can be used on the route that starts at END.
[[nodiscard]] Diagnosis diagnose(const RdmaFacts& facts, const LocalEnd& end);
// Whether DIAGNOSIS rules RDMA out. Some devices do not report their interfaces. Then
// wrong_link_layer and not_an_rdma_address are only guesses, and the caller should try to connect.
[[nodiscard]] bool is_certain(const Diagnosis& diagnosis, const RdmaFacts& facts);

} // namespace rpmem::rdma
