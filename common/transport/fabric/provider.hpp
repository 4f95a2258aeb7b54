// SPDX-License-Identifier: BSD-3-Clause
// Which libfabric provider reaches a node, and what it can do.
#pragma once

#include "common/base/result.hpp"
#include "common/base/shared_settings.hpp"
#include "common/transport/fabric/library.hpp"
#include "common/wire/control_messages.hpp"

#include <cstddef>
#include <string>

namespace rpmem::fabric {

using ProviderKind = wire::Provider; // verbs or sockets

// Operations that an endpoint takes at once.
struct QueueSizes {
    std::size_t send; // sends, writes and reads
    std::size_t receive;
};

// The provider's properties that the code obeys; filled in from fi_info.
struct Provider {
    ProviderKind kind;
    Info info;
    bool virtual_addressing;  // remote addresses are virtual ones, not offsets into the region
    bool provider_keys;       // the provider chooses the keys of regions
    bool pins_memory;         // what is registered is locked in memory
    bool pages_on_demand;     // unless the device fetches it when it needs it
    bool local_registration;  // buffers of local operations must be registered
    unsigned max_lanes;       // endpoints that can exist at once
    QueueSizes queues;        // of an endpoint; as it was asked for, where a target listens
    std::size_t max_transfer; // bytes of one operation
    std::size_t inject_size;  // bytes of a message that is copied when it is posted
    std::size_t key_size;     // bytes of a region's key
};

// Which of the devices of a provider.
struct Selection {
    std::string domain;         // libfabric's name for the device; empty: any
    std::string source_address; // to connect from; empty: as the route says
};

// The provider as it reaches NODE (initiator), or as it listens on the local address NODE (target,
// with SERVICE "0" for any port). QUEUES.send is a suggestion; 0: as the provider likes.
Result<Provider> find_to_connect(ProviderKind kind, const std::string& node,
                                 const std::string& service, QueueSizes queues,
                                 const Selection& selection = {});
Result<Provider> find_to_listen(ProviderKind kind, const std::string& address,
                                const std::string& service, QueueSizes queues);

// Entries of a completion queue that so many endpoints share. A provider may set places aside for
// all receives of each endpoint, and send nothing where no place is left.
std::size_t completions_of(const Provider& provider, std::size_t endpoints);

// The name of the device: mlx5_0; of a network interface, for providers without RDMA.
std::string device_of(const Provider& provider);

// For people: verbs, mlx5_0.
std::string describe(const Provider& provider);

// On-demand paging: libfabric reads whether to use it from its environment, once in a process. So
// what is decided first is decided for all pools.
// Has libfabric use it if POLICY says so, or if the MEMORY cannot be pinned and a device of this
// node can do without that. Returns what to tell people: what was asked for, and why; empty:
// nothing.
std::string ask_for_paging(PagingPolicy policy, std::byte* memory, std::size_t size);

// ENOTSUP if POLICY is `always` and the provider's device cannot, or if libfabric was not asked.
Result<> check_paging(PagingPolicy policy, const Provider& provider);

} // namespace rpmem::fabric
