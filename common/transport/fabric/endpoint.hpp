// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of libfabric: connected ones, one for each lane, and the passive one of a target.
#pragma once

#include "common/transport/fabric/domain.hpp"
#include "common/transport/fabric/library.hpp"

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

// The post_*() functions return 0 or a negative libfabric error. -FI_EAGAIN means that the queue is
// full: read completions and retry. The completion, if there is one, contains CONTEXT.
class Endpoint {
public:
    Endpoint() = default;
    // INFO comes from the provider on an initiator, and from the connection request on a target.
    static Result<Endpoint> open(const Domain& domain, fi_info* info, const EventQueue& events,
                                 const CompletionQueue& completions);

    explicit operator bool() const { return endpoint_ != nullptr; }
    [[nodiscard]] fid_t id() const { return &endpoint_->fid; }
    // The connection request contains DATA, at most 56 bytes: the limit of RDMA CM.
    Result<> connect(const void* address, std::span<const std::byte> data = {});
    Result<> accept();
    void shut_down();
    // Closes the endpoint and cancels its operations. Only shut_down() may be called afterwards.
    void close() { endpoint_.reset(); }

    [[nodiscard]] int post_write(const void* source, std::size_t size, void* descriptor,
                                 RemoteAddress target, void* context) {
        const Transfer transfer(const_cast<void*>(source), size, descriptor, target, context);
        return static_cast<int>(fi_writemsg(endpoint_.get(), &transfer.message, FI_COMPLETION));
    }
    [[nodiscard]] int post_read(void* destination, std::size_t size, void* descriptor,
                                RemoteAddress source, void* context) {
        const Transfer transfer(destination, size, descriptor, source, context);
        return static_cast<int>(fi_readmsg(endpoint_.get(), &transfer.message, FI_COMPLETION));
    }
    // Sends one message from several pieces. Without FI_COMPLETION in FLAGS only a failure has a
    // completion, and PIECES must not change until the peer has answered.
    [[nodiscard]] int post_send(std::span<const iovec> pieces, std::span<void*> descriptors,
                                std::uint64_t flags = 0, void* context = nullptr) {
        const fi_msg message{pieces.data(), descriptors.data(), pieces.size(), 0, context, 0};
        return static_cast<int>(fi_sendmsg(endpoint_.get(), &message, flags));
    }
    // Sends a copy of a message of at most Provider::inject_size bytes. It has no completion.
    [[nodiscard]] int inject(const void* message, std::size_t size) {
        return static_cast<int>(fi_inject(endpoint_.get(), message, size, 0));
    }
    [[nodiscard]] int post_receive(void* buffer, std::size_t size, void* descriptor,
                                   void* context) {
        return static_cast<int>(fi_recv(endpoint_.get(), buffer, size, descriptor, 0, context));
    }

private:
    struct Transfer {
        Transfer(void* place, std::size_t size, void* memory_descriptor, RemoteAddress remote,
                 void* context)
            : local{place, size},
              descriptor(memory_descriptor), there{remote.address, size, remote.key},
              message{&local, &descriptor, 1, 0, &there, 1, context, 0} {}
        iovec local;
        void* descriptor;
        fi_rma_iov there;
        fi_msg_rma message;
    };

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
