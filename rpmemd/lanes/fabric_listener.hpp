// SPDX-License-Identifier: BSD-3-Clause
// What lanes over libfabric share: the provider, the registered pool and the listening endpoints.
#pragma once

#include "common/base/log.hpp"
#include "common/base/shared_settings.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/pending_connections.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// Whether the peer may access the memory of the pool directly, by RDMA.
enum class PoolAccess {
    direct,        // yes, or fail
    direct_if_can, // yes, unless the kernel cannot pin this memory; then only frames
    frames,        // no
};

struct FabricServerOptions {
    fabric::ProviderKind provider;
    std::string address;     // local address to listen on
    std::string device;      // allowed RDMA devices, see common/rdma/choice.hpp; empty for all
    unsigned lanes;          // requested by the peer
    std::size_t inline_size; // maximum payload of a message, requested by the peer
    unsigned workers;        // 0 for one per processor
    std::chrono::microseconds spin_time;
    PagingPolicy paging;
    PoolAccess access;
    bool is_0_1 = false;    // the peer uses protocol 0.1
    bool read_only = false; // the pool is mapped read-only, and peers may not write to it
    bool digests = false;   // digest frames are allowed, see wire::capability_compare
    // Further addresses to listen on, with the same port. The device of the first address that
    // belongs to an RDMA device serves RDMA, and no other one, because the pool is registered with
    // one device.
    std::vector<std::string> further_addresses{};
    // Limits for connections before their handshake is complete, the same as over TCP.
    std::size_t max_unproven = transport::max_known;
    std::chrono::milliseconds unproven_timeout = transport::unproven_timeout;
};

class FabricListener {
public:
    // QUEUES are the sizes for each endpoint. Registers POOL before it listens. The memory must
    // outlive the listener. Fails with ENODATA if the provider is not available.
    static Result<std::unique_ptr<FabricListener>> open(const FabricServerOptions& options,
                                                        fabric::QueueSizes queues,
                                                        std::span<std::byte> pool, Log& log);

    [[nodiscard]] const fabric::Provider& provider() const { return provider_; }
    [[nodiscard]] const fabric::Domain& domain() const { return domain_; }
    [[nodiscard]] const fabric::EventQueue& events() const { return *events_; }
    // The registration of the pool, or nothing if peers have no direct access.
    [[nodiscard]] const std::optional<fabric::MemoryRegion>& region() const { return region_; }
    [[nodiscard]] std::uint16_t port() const { return passive_->port(); }
    void reject(const fabric::Info& request) const { passive_->reject(request); }
    void close(); // stops listening

private:
    FabricListener() = default;
    Result<> expose(const FabricServerOptions& options, std::span<std::byte> pool, Log& log);
    void listen_further(const FabricServerOptions& options, fabric::QueueSizes queues, Log& log);

    // Each member uses those above it, so the order of destruction matters.
    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::optional<fabric::EventQueue> events_;
    std::optional<fabric::MemoryRegion> region_;
    std::optional<fabric::PassiveEndpoint> passive_;
    std::vector<fabric::PassiveEndpoint> further_; // other addresses, same port
};

} // namespace rpmem::target
