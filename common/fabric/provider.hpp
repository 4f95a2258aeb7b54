// Which libfabric provider reaches a node, and what it can do.
#pragma once

#include "base/result.hpp"
#include "fabric/handle.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpmem::fabric {

enum class ProviderKind { verbs, tcp, sockets };

const char* name_of(ProviderKind kind);

// What the code obeys; filled in from fi_info, whatever the provider's name is.
struct Provider {
    ProviderKind kind;
    Info info;
    bool virtual_addressing;  // remote addresses are virtual ones, not offsets into the region
    bool provider_keys;       // the provider chooses the keys of regions
    bool local_registration;  // buffers of local operations must be registered
    unsigned max_lanes;       // endpoints that can exist at once
    std::size_t queue_size;   // operations that an endpoint takes at once
    std::size_t max_transfer; // bytes of one operation
    std::size_t inject_size;  // bytes of a message that is copied when it is posted
    std::size_t key_size;     // bytes of a region's key
};

// The provider as it reaches NODE (initiator), or as it listens on the local address NODE (target,
// with SERVICE "0" for any port). QUEUE_SIZE is a suggestion.
Result<Provider> find_to_connect(ProviderKind kind, const std::string& node,
                                 const std::string& service, std::size_t queue_size);
Result<Provider> find_to_listen(ProviderKind kind, const std::string& address,
                                const std::string& service, std::size_t queue_size);

// AF_INET or AF_INET6 of the address that the provider would connect to.
int destination_family(const Provider& provider);

} // namespace rpmem::fabric
