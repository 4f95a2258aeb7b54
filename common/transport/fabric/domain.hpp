// An opened provider, and memory registered with it.
#pragma once

#include "common/transport/fabric/library.hpp"
#include "common/transport/fabric/provider.hpp"

#include <cstddef>
#include <cstdint>

namespace rpmem::fabric {

struct Domain {
    Handle<fid_fabric> fabric;
    Handle<fid_domain> domain;
};

Result<Domain> open_domain(const Provider& provider);

enum class Access {
    local,       // source and destination of own operations
    remote,      // target of the peer's reads and writes, and what is sent
    remote_read, // of the peer's reads only, and what is sent
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

Result<MemoryRegion> register_memory(const Domain& domain, const Provider& provider, void* address,
                                     std::size_t size, Access access);

} // namespace rpmem::fabric
