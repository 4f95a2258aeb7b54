// Connected endpoints (one a lane) and the passive one that they arrive at.
#pragma once

#include "fabric/domain.hpp"
#include "fabric/handle.hpp"
#include "fabric/queues.hpp"

#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rpmem::fabric {

struct RemoteAddress {
    std::uint64_t address;
    std::uint64_t key;
};

// The posting calls return 0, -FI_EAGAIN when the queue is full (read completions, try again), or
// another negative libfabric error. CONTEXT comes back in the completion.
class Endpoint {
public:
    Endpoint() = default;
    // INFO: of the provider (initiator) or of the connection request (target).
    static Result<Endpoint> open(const Domain& domain, fi_info* info, const EventQueue& events,
                                 const CompletionQueue& completions);

    [[nodiscard]] fid_t id() const { return &endpoint_->fid; }
    // DATA go with the request; 56 bytes at most (what RDMA CM has room for).
    Result<> connect(const void* address, std::span<const std::byte> data = {});
    Result<> accept();
    void shut_down();

    [[nodiscard]] int post_write(const void* source, std::size_t size, void* descriptor,
                                 RemoteAddress target, void* context) {
        return static_cast<int>(fi_write(endpoint_.get(), source, size, descriptor, 0,
                                         target.address, target.key, context));
    }
    [[nodiscard]] int post_read(void* destination, std::size_t size, void* descriptor,
                                RemoteAddress source, void* context) {
        return static_cast<int>(fi_read(endpoint_.get(), destination, size, descriptor, 0,
                                        source.address, source.key, context));
    }
    [[nodiscard]] int post_send(const void* message, std::size_t size, void* descriptor,
                                void* context) {
        return static_cast<int>(fi_send(endpoint_.get(), message, size, descriptor, 0, context));
    }
    // One message from two places.
    [[nodiscard]] int post_send(std::span<const iovec, 2> pieces, std::span<void*, 2> descriptors,
                                void* context) {
        return static_cast<int>(fi_sendv(endpoint_.get(), pieces.data(), descriptors.data(),
                                         pieces.size(), 0, context));
    }
    // Copies the message, of Provider::inject_size at most; there is no completion.
    [[nodiscard]] int inject(const void* message, std::size_t size) {
        return static_cast<int>(fi_inject(endpoint_.get(), message, size, 0));
    }
    [[nodiscard]] int post_receive(void* buffer, std::size_t size, void* descriptor,
                                   void* context) {
        return static_cast<int>(fi_recv(endpoint_.get(), buffer, size, descriptor, 0, context));
    }

private:
    explicit Endpoint(Handle<fid_ep> endpoint) : endpoint_(std::move(endpoint)) {}
    Handle<fid_ep> endpoint_;
};

class PassiveEndpoint {
public:
    static Result<PassiveEndpoint> listen(const Domain& domain, const Provider& provider,
                                          const EventQueue& events);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    void reject(const Info& request) const;

private:
    PassiveEndpoint(Handle<fid_pep> endpoint, std::uint16_t port)
        : endpoint_(std::move(endpoint)), port_(port) {}
    Handle<fid_pep> endpoint_;
    std::uint16_t port_;
};

} // namespace rpmem::fabric
