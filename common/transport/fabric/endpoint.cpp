// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/endpoint.hpp"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <sys/socket.h>

#include <cerrno>

namespace rpmem::fabric {
namespace {

Result<std::uint16_t> port_of(fid_t object) {
    sockaddr_storage name{};
    std::size_t length = sizeof(name);
    RPMEM_TRY(checked(fi_getname(object, &name, &length), ErrorClass::bug,
                      "cannot get the port of a listening endpoint"));
    if (name.ss_family == AF_INET)
        return ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
    if (name.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port);
    return fail(ErrorClass::bug, EAFNOSUPPORT, "the provider listens on an address of family {}",
                name.ss_family);
}

} // namespace

Result<Endpoint> Endpoint::open(const Domain& domain, fi_info* info, const EventQueue& events,
                                const CompletionQueue& completions) {
    fid_ep* endpoint = nullptr;
    RPMEM_TRY(checked(fi_endpoint(domain.domain.get(), info, &endpoint, nullptr),
                      ErrorClass::resource_limit, "cannot open an endpoint"));
    Endpoint opened{Handle<fid_ep>(endpoint)};
    int status = fi_ep_bind(endpoint, &events.get()->fid, 0);
    if (status == 0)
        status = fi_ep_bind(endpoint, &completions.get()->fid, FI_RECV);
    // Only operations with FI_COMPLETION have an entry when they complete.
    if (status == 0)
        status =
            fi_ep_bind(endpoint, &completions.get()->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
    if (status == 0)
        status = fi_enable(endpoint);
    RPMEM_TRY(checked(status, ErrorClass::resource_limit, "cannot set up an endpoint"));
    return opened;
}

Result<> Endpoint::connect(const void* address, std::span<const std::byte> data) {
    return checked(
        fi_connect(endpoint_.get(), address, data.empty() ? nullptr : data.data(), data.size()),
        ErrorClass::link_lost, "cannot request the connection of a lane");
}

Result<> Endpoint::accept() {
    return checked(fi_accept(endpoint_.get(), nullptr, 0), ErrorClass::link_lost,
                   "cannot accept the connection of a lane");
}

void Endpoint::shut_down() {
    if (endpoint_)
        fi_shutdown(endpoint_.get(), 0); // fails only if there is no connection
}

Result<PassiveEndpoint> PassiveEndpoint::listen(const Domain& domain, const Provider& provider,
                                                const EventQueue& events) {
    fid_pep* endpoint = nullptr;
    RPMEM_TRY(checked(fi_passive_ep(domain.fabric.get(), provider.info.get(), &endpoint, nullptr),
                      ErrorClass::resource_limit, "cannot open a listening endpoint"));
    Handle<fid_pep> owned(endpoint);
    int status = fi_pep_bind(endpoint, &events.get()->fid, 0);
    if (status == 0)
        status = fi_listen(endpoint);
    RPMEM_TRY(checked(status, ErrorClass::resource_limit,
                      "cannot listen for lanes with the provider {}", name_of(provider.kind)));
    RPMEM_ASSIGN(const std::uint16_t port, port_of(&endpoint->fid));
    return PassiveEndpoint(std::move(owned), port);
}

void PassiveEndpoint::reject(const Info& request) const {
    fi_reject(endpoint_.get(), request->handle, nullptr, 0);
}

} // namespace rpmem::fabric
