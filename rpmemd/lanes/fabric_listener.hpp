// SPDX-License-Identifier: BSD-3-Clause
// The resources that lanes over libfabric need before one arrives: the provider, the pool
// registered with it, and endpoints that listen.
#pragma once

#include "common/base/log.hpp"
#include "common/base/shared_settings.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/unproven_slots.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// How the peer's memory accesses may reach the pool.
enum class PoolAccess {
    direct,        // by RDMA
    direct_if_can, // the same, unless the kernel does not let this memory be registered
    frames,        // not at all
};

struct FabricServerOptions {
    fabric::ProviderKind provider;
    std::string address;     // local address to listen on
    std::string device;      // RDMA devices that may serve, see common/rdma/choice.hpp; empty: all
    unsigned lanes;          // wanted by the peer
    std::size_t inline_size; // most bytes of a message that the peer wants
    unsigned workers;        // 0: as many as fit
    std::chrono::microseconds spin_time;
    PagingPolicy paging;
    PoolAccess access;
    bool is_0_1 = false;    // the peer's protocol
    bool read_only = false; // the pool is mapped so, and peers get no right to write to it
    // Further ones to listen on, at the same port. RDMA, whose devices each have addresses of their
    // own, is served at the first of all that has it.
    std::vector<std::string> further_addresses{};
    // Of connections that have not proven themselves, as over tcp.
    std::size_t max_unproven = transport::max_known;
    std::chrono::milliseconds unproven_timeout = transport::unproven_timeout;
};

class FabricListener {
public:
    // QUEUES: of an endpoint. POOL is registered before anything listens; its memory must outlive
    // the listener.
    static Result<std::unique_ptr<FabricListener>> open(const FabricServerOptions& options,
                                                        fabric::QueueSizes queues,
                                                        std::span<std::byte> pool, Log& log);

    [[nodiscard]] const fabric::Provider& provider() const { return provider_; }
    [[nodiscard]] const fabric::Domain& domain() const { return domain_; }
    [[nodiscard]] const fabric::EventQueue& events() const { return *events_; }
    // Of the pool; none: peers do not reach it.
    [[nodiscard]] const std::optional<fabric::MemoryRegion>& region() const { return region_; }
    [[nodiscard]] std::uint16_t port() const { return passive_->port(); }
    void reject(const fabric::Info& request) const { passive_->reject(request); }
    // No further requests.
    void close();

private:
    FabricListener() = default;
    Result<> expose(const FabricServerOptions& options, std::span<std::byte> pool, Log& log);
    void listen_further(const FabricServerOptions& options, fabric::QueueSizes queues, Log& log);

    // In the order in which they are made; destroyed in reverse.
    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::optional<fabric::EventQueue> events_;
    std::optional<fabric::MemoryRegion> region_;
    std::optional<fabric::PassiveEndpoint> passive_;
    std::vector<fabric::PassiveEndpoint> further_; // at other addresses, on the same port
};

} // namespace rpmem::target
