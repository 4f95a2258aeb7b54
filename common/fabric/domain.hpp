// An opened provider, and memory registered with it.
#pragma once

#include "fabric/handle.hpp"
#include "fabric/provider.hpp"

#include <cstddef>
#include <cstdint>

namespace rpmem::fabric {

// With some providers (Provider::domain_per_queue) all queues of a domain share a lock, and whoever
// reads one takes in what came for any; and the descriptors of completion queues stay readable. But
// that of an event queue of the same fabric becomes readable with all that arrives. There each
// completion queue has a domain of its own, in a fabric of its own, and is woken by an event queue.
struct Domain {
    Handle<fid_fabric> fabric;
    Handle<fid_domain> domain;
    bool woken_by_events;
};

Result<Domain> open_domain(const Provider& provider);

enum class Access {
    local,       // source and destination of own operations
    remote,      // target of the peer's reads and writes
    remote_read, // of the peer's reads only
};

// Registered memory; empty where the provider needs no registration for local access.
class MemoryRegion {
public:
    MemoryRegion() = default;
    MemoryRegion(Handle<fid_mr> handle, std::uint64_t remote_base)
        : handle_(std::move(handle)), remote_base_(remote_base) {}

    [[nodiscard]] void* descriptor() const { return handle_ ? fi_mr_desc(handle_.get()) : nullptr; }
    [[nodiscard]] std::uint64_t key() const { return fi_mr_key(handle_.get()); }
    // What a peer has to add to an offset to address this region.
    [[nodiscard]] std::uint64_t remote_base() const { return remote_base_; }

private:
    Handle<fid_mr> handle_;
    std::uint64_t remote_base_ = 0;
};

// LIKE: the same memory, registered in another domain; the new region has its key, if keys can be
// chosen.
Result<MemoryRegion> register_memory(const Domain& domain, const Provider& provider, void* address,
                                     std::size_t size, Access access,
                                     const MemoryRegion* like = nullptr);

} // namespace rpmem::fabric
