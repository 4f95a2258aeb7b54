// SPDX-License-Identifier: BSD-3-Clause
// Finds the libfabric provider that reaches a machine, and reads its properties.
#pragma once

#include "common/base/result.hpp"
#include "common/base/shared_settings.hpp"
#include "common/transport/fabric/library.hpp"
#include "common/wire/control_messages.hpp"

#include <cstddef>
#include <string>

namespace rpmem::fabric {

using ProviderKind = wire::Provider; // only verbs or sockets

// Maximum number of operations in progress on an endpoint.
struct QueueSizes {
    std::size_t send; // sends, writes and reads
    std::size_t receive;
};

// The properties of a provider, from fi_info.
struct Provider {
    ProviderKind kind;
    Info info;
    bool virtual_addressing; // remote addresses are virtual addresses, not offsets in the region
    bool provider_keys;      // the provider chooses the keys of regions
    bool pins_memory;        // registered memory is locked, unless pages_on_demand

    bool pages_on_demand;    // registered memory is not locked: the device pages it in
    bool local_registration; // buffers of local operations must be registered
    unsigned max_lanes;      // maximum number of endpoints
    QueueSizes queues; // queues of an endpoint; on a listening target those that were requested
    std::size_t max_transfer; // maximum bytes of one operation
    std::size_t inject_size;  // maximum bytes of a message that inject() copies
    std::size_t key_size;     // bytes of the key of a region
};

// Selects a device of a provider.
struct Selection {
    std::string domain;         // libfabric's name of the device; empty for any
    std::string source_address; // local address of the connection; empty to use the route
};

// Return the provider that connects an initiator to NODE, or that listens on the local ADDRESS of a
// target. SERVICE is a port; a target uses "0" for any port. QUEUES.send is a hint; 0 selects the
// default of the provider.
Result<Provider> find_to_connect(ProviderKind kind, const std::string& node,
                                 const std::string& service, QueueSizes queues,
                                 const Selection& selection = {});
Result<Provider> find_to_listen(ProviderKind kind, const std::string& address,
                                const std::string& service, QueueSizes queues);

// Returns the size of a completion queue for ENDPOINTS endpoints. A provider may reserve entries
// for all receives of each endpoint, and then cannot send if no entry is left.
std::size_t completions_of(const Provider& provider, std::size_t endpoints);

// Returns the name of the device, such as mlx5_0, or of the network interface if there is no
// device.
std::string device_of(const Provider& provider);

// Returns a text for display, such as "verbs, mlx5_0".
std::string describe(const Provider& provider);

// Turns on on-demand paging in libfabric if POLICY requires it, or if MEMORY cannot be pinned and a
// device of this machine supports it. libfabric reads its environment once, so the first decision
// in a process holds for all pools. Returns a text for the log: what was turned on and why, or that
// it is too late for that. Returns an empty text if paging is not needed or is on already.
std::string ask_for_paging(PagingPolicy policy, std::byte* memory, std::size_t size);

// Fails with ENOTSUP if POLICY is `always`, PROVIDER is verbs, and its device does not support
// paging or paging was not enabled in libfabric.
Result<> check_paging(PagingPolicy policy, const Provider& provider);

} // namespace rpmem::fabric
