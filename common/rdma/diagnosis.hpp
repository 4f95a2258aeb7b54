// SPDX-License-Identifier: BSD-3-Clause
// Why RDMA cannot be used, and what to do about it: one cause, the one to be removed first.
#pragma once

#include "common/rdma/choice.hpp"
#include "common/rdma/devices.hpp"
#include "common/rdma/local_end.hpp"

#include <string>
#include <vector>

namespace rpmem::rdma {

enum class Fault {
    none,                // nothing is wrong that can be seen from here
    excluded,            // FI_PROVIDER keeps libfabric from verbs
    no_subsystem,        // the kernel knows nothing of RDMA
    no_device,           // it does, and has no device
    unknown_device,      // the setting names one that does not exist
    no_connections,      // raw packet queue pairs only, and the like
    no_module,           // ib_uverbs or rdma_ucm is not loaded
    no_device_file,      // not in /dev/infiniband
    no_permission,       // for a file there
    no_active_port,      //
    no_address,          // the way to the other machine is not known
    wrong_link_layer,    // it begins on Ethernet, and the devices are InfiniBand
    not_an_rdma_address, // it begins on an interface that no RDMA device has
    other_device,        // it begins at a device that is not allowed, or not usable
};

struct Diagnosis {
    Fault fault = Fault::none;
    std::string text; // empty without a fault
};

// The device that is looked at.
struct RdmaFacts {
    Devices devices;
    std::vector<AllowedDevice> allowed; // empty: all
    const char* setting;                // that says so: RPMEM_DEVICE or `device`
    std::string providers;              // FI_PROVIDER; empty: all
};

// Why a device cannot be used at all, alone by itself.
[[nodiscard]] Diagnosis diagnose_device(const Device& device, const RdmaFacts& facts);
// Why none of the allowed ones can.
[[nodiscard]] Diagnosis diagnose_devices(const RdmaFacts& facts);
// Why none of them can on the way that begins at END.
[[nodiscard]] Diagnosis diagnose(const RdmaFacts& facts, const LocalEnd& end);
// Whether that is beyond doubt. Some devices do not tell which interfaces are theirs, and then it
// is a guess that an address is not: better try.
[[nodiscard]] bool is_certain(const Diagnosis& diagnosis, const RdmaFacts& facts);

} // namespace rpmem::rdma
