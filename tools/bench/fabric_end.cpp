#include "fabric_end.hpp"

#include "base/deadline.hpp"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>
#include <sstream>

namespace rpmem::bench {
namespace {

constexpr std::size_t buffer_size = std::size_t{64} << 20;
constexpr const char* loopback_address = "127.0.0.1";

void fill_hints(fi_info& hints, const std::string& provider) {
    hints.fabric_attr->prov_name = strdup(provider.c_str()); // freed with the hints
    hints.ep_attr->type = FI_EP_MSG;
    hints.caps = FI_MSG;
    hints.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints.domain_attr->threading = FI_THREAD_DOMAIN;
}

} // namespace

Result<> FabricEnd::check(int status, const char* what) const {
    if (status >= 0)
        return {};
    return fail(ErrorClass::resource_limit, -status, "bare libfabric: {}: {}", what,
                library_.text_of(status));
}

Result<> FabricEnd::find(const std::string& providers, const std::string& service) {
    std::istringstream names(providers);
    int status = -FI_ENODATA;
    for (std::string name; status != 0 && std::getline(names, name, ',');) {
        const Info hints(library_.allocate(), library_.free_info);
        if (!hints)
            return fail(ErrorClass::resource_limit, ENOMEM, "out of memory");
        fill_hints(*hints, name);
        fi_info* found = nullptr;
        status = library_.get_info(FI_VERSION(1, 17), loopback_address,
                                   service.empty() ? nullptr : service.c_str(),
                                   service.empty() ? FI_SOURCE : 0, hints.get(), &found);
        if (status == 0)
            info_ = Info(found, library_.free_info);
    }
    if (status == 0)
        return {};
    return fail(ErrorClass::resource_limit, -status,
                "bare libfabric: the provider {} does not serve {}: {}", providers,
                loopback_address, library_.text_of(status));
}

Result<FabricEnd> FabricEnd::open(const std::string& providers, const std::string& service) {
    Result<FabricLibrary> library = FabricLibrary::load();
    if (!library)
        return propagate(std::move(library));
    FabricEnd end(*library);
    RPMEM_TRY(end.find(providers, service));
    fid_fabric* fabric = nullptr;
    RPMEM_TRY(
        end.check(library->open_fabric(end.info_->fabric_attr, &fabric, nullptr), "fi_fabric"));
    end.fabric_.reset(fabric);
    fi_eq_attr event_attributes{};
    event_attributes.wait_obj = FI_WAIT_FD; // with others, some providers start a thread
    fid_eq* events = nullptr;
    RPMEM_TRY(end.check(fi_eq_open(fabric, &event_attributes, &events, nullptr), "fi_eq_open"));
    end.events_.reset(events);
    return end;
}

Result<FabricEnd> FabricEnd::listen(const std::string& providers) {
    Result<FabricEnd> end = open(providers, "");
    if (!end)
        return end;
    fid_pep* listener = nullptr;
    RPMEM_TRY(end->check(fi_passive_ep(end->fabric_.get(), end->info_.get(), &listener, nullptr),
                         "fi_passive_ep"));
    end->listener_.reset(listener);
    RPMEM_TRY(end->check(fi_pep_bind(listener, &end->events_->fid, 0), "fi_pep_bind"));
    RPMEM_TRY(end->check(fi_listen(listener), "fi_listen"));
    sockaddr_in name{};
    std::size_t length = sizeof(name);
    RPMEM_TRY(end->check(fi_getname(&listener->fid, &name, &length), "fi_getname"));
    end->port_ = ntohs(name.sin_port);
    return end;
}

Result<FabricEnd> FabricEnd::connect(const std::string& providers, std::uint16_t port) {
    Result<FabricEnd> end = open(providers, std::to_string(port));
    if (!end)
        return end;
    RPMEM_TRY(end->open_endpoint(end->info_.get()));
    RPMEM_TRY(end->check(fi_connect(end->endpoint_.get(), end->info_->dest_addr, nullptr, 0),
                         "fi_connect"));
    if (Result<Info> connected = end->wait_for(FI_CONNECTED); !connected)
        return propagate(std::move(connected));
    return end;
}

Result<> FabricEnd::accept() {
    Result<Info> request = wait_for(FI_CONNREQ);
    if (!request)
        return propagate(std::move(request));
    RPMEM_TRY(open_endpoint(request->get()));
    RPMEM_TRY(check(fi_accept(endpoint_.get(), nullptr, 0), "fi_accept"));
    if (Result<Info> connected = wait_for(FI_CONNECTED); !connected)
        return propagate(std::move(connected));
    return {};
}

Result<> FabricEnd::open_endpoint(fi_info* info) {
    fid_domain* domain = nullptr;
    RPMEM_TRY(check(fi_domain(fabric_.get(), info, &domain, nullptr), "fi_domain"));
    domain_.reset(domain);
    Result<Buffer> buffer = Buffer::make(buffer_size, Pages::touched);
    if (!buffer)
        return propagate(std::move(buffer));
    buffer_ = std::move(*buffer);
    if ((info->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
        fid_mr* region = nullptr;
        RPMEM_TRY(check(fi_mr_reg(domain, buffer_.bytes().data(), buffer_size, FI_SEND | FI_RECV, 0,
                                  1, 0, &region, nullptr),
                        "fi_mr_reg"));
        region_.reset(region);
    }
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_MSG;
    attributes.wait_obj = FI_WAIT_NONE;
    fid_cq* completions = nullptr;
    RPMEM_TRY(check(fi_cq_open(domain, &attributes, &completions, nullptr), "fi_cq_open"));
    completions_.reset(completions);
    fid_ep* endpoint = nullptr;
    RPMEM_TRY(check(fi_endpoint(domain, info, &endpoint, nullptr), "fi_endpoint"));
    endpoint_.reset(endpoint);
    RPMEM_TRY(check(fi_ep_bind(endpoint, &events_->fid, 0), "binding the event queue"));
    RPMEM_TRY(check(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV),
                    "binding the completion queue"));
    return check(fi_enable(endpoint), "fi_enable");
}

Result<FabricEnd::Info> FabricEnd::wait_for(std::uint32_t wanted) {
    const Deadline deadline(exchange_timeout);
    while (!deadline.passed()) {
        std::uint32_t event = 0;
        alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> buffer;
        const ssize_t got = fi_eq_sread(events_.get(), &event, buffer.data(), buffer.size(), 10, 0);
        if (got == -FI_EAGAIN)
            continue;
        if (got < 0)
            return fail(ErrorClass::link_lost, ECONNREFUSED,
                        "bare libfabric: the connection over loopback was refused");
        fi_eq_cm_entry entry;
        std::memcpy(&entry, buffer.data(), sizeof(entry));
        if (event == wanted)
            return Info(event == FI_CONNREQ ? entry.info : nullptr, library_.free_info);
    }
    return no_answer();
}

Result<> FabricEnd::post_receive(std::uint64_t size) {
    void* const descriptor = region_ ? fi_mr_desc(region_.get()) : nullptr;
    return check(static_cast<int>(fi_recv(endpoint_.get(), buffer_.bytes().data(), size, descriptor,
                                          FI_ADDR_UNSPEC, nullptr)),
                 "fi_recv");
}

Result<> FabricEnd::send(std::uint64_t size) {
    const void* const data = buffer_.bytes().data();
    const Deadline deadline(exchange_timeout);
    while (true) {
        ssize_t status = 0;
        if (size <= info_->tx_attr->inject_size) {
            status = fi_inject(endpoint_.get(), data, size, FI_ADDR_UNSPEC);
        } else {
            void* const descriptor = region_ ? fi_mr_desc(region_.get()) : nullptr;
            status = fi_send(endpoint_.get(), data, size, descriptor, FI_ADDR_UNSPEC, nullptr);
            sending_ += status == 0 ? 1 : 0;
        }
        if (status != -FI_EAGAIN)
            return check(static_cast<int>(status), "fi_send");
        RPMEM_TRY(collect());
        if (deadline.passed())
            return no_answer();
    }
}

Result<> FabricEnd::collect() {
    std::array<fi_cq_msg_entry, 4> entries;
    const ssize_t got = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (got == -FI_EAGAIN)
        return {};
    if (got < 0)
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "bare libfabric: an operation over loopback failed");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        if ((entries[i].flags & FI_RECV) != 0)
            ++received_;
        else
            --sending_;
    }
    return {};
}

// Also until what was sent before has left the buffer.
Result<> FabricEnd::wait_for_message() {
    constexpr unsigned look_at_clock = 1U << 20;
    const Deadline deadline(exchange_timeout);
    for (unsigned i = 1; received_ == 0 || sending_ != 0; ++i) {
        RPMEM_TRY(collect());
        if (i % look_at_clock == 0 && deadline.passed())
            return no_answer();
    }
    --received_;
    return {};
}

Result<> FabricEnd::prepare(const Exchange& exchange) {
    if (std::max(exchange.request, exchange.answer) > buffer_size)
        return fail(ErrorClass::caller_fault, EFBIG,
                    "bare libfabric is measured with messages up to {} bytes", buffer_size);
    return post_receive(exchange.request);
}

Result<> FabricEnd::ask(const Exchange& exchange, std::vector<std::uint64_t>& nanoseconds) {
    nanoseconds.reserve(exchange.count);
    for (std::uint64_t i = 0; i < exchange.count; ++i) {
        const Nanoseconds begin = now();
        RPMEM_TRY(post_receive(exchange.answer));
        RPMEM_TRY(send(exchange.request));
        RPMEM_TRY(wait_for_message());
        nanoseconds.push_back(static_cast<std::uint64_t>((now() - begin).count()));
    }
    return {};
}

Result<> FabricEnd::answer(const Exchange& exchange) {
    for (std::uint64_t i = 0; i < exchange.count; ++i) {
        RPMEM_TRY(wait_for_message());
        if (i + 1 < exchange.count)
            RPMEM_TRY(post_receive(exchange.request));
        RPMEM_TRY(send(exchange.answer));
    }
    const Deadline deadline(exchange_timeout);
    while (sending_ != 0 && !deadline.passed())
        RPMEM_TRY(collect());
    return {};
}

} // namespace rpmem::bench
