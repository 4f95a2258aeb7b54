// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/provider.hpp"

#include "common/base/host_address.hpp"
#include "common/rdma/environment_switch.hpp"
#include "common/rdma/on_demand_paging.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace rpmem::fabric {
namespace {

constexpr std::uint32_t api_version = FI_VERSION(1, 17);

// The modes of memory registration that this code supports. A provider reports those that it
// requires.
constexpr int understood_modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

// A remote READ must see the WRITEs before it, and a message must not overtake a WRITE. The
// confirmation of durability depends on both.
constexpr std::uint64_t needed_order = FI_ORDER_RAW | FI_ORDER_SAW;

// Responses are injected. A message consists of a header and data.
constexpr std::size_t min_inject_size = 8;
constexpr std::size_t pieces_of_a_message = 2;

// See fi_verbs(7).
constexpr const char* paging_variable = "FI_VERBS_USE_ODP";

// Sets the local address of the connection. An empty ADDRESS leaves it to the route.
void set_source(fi_info& hints, const std::string& address) {
    const auto own =
        address.empty() ? AddressList() : look_up_number(address, "").value_or(nullptr);
    if (!own)
        return;
    hints.src_addr = std::malloc(own->ai_addrlen); // freed by fi_freeinfo
    if (hints.src_addr) {
        std::memcpy(hints.src_addr, own->ai_addr, own->ai_addrlen);
        hints.src_addrlen = own->ai_addrlen;
        hints.addr_format = own->ai_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
    }
}

Info make_hints(const char* name, QueueSizes queues, const Selection& selection) {
    Info hints(fi_allocinfo());
    if (!hints)
        return hints;
    hints->fabric_attr->prov_name = strdup(name); // freed by fi_freeinfo
    hints->ep_attr->type = FI_EP_MSG;
    hints->addr_format = FI_SOCKADDR; // IPv4 and IPv6; without it verbs supports only IPv4
    hints->caps = FI_MSG | FI_RMA;
    hints->domain_attr->mr_mode = understood_modes;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->tx_attr->msg_order = needed_order;
    hints->rx_attr->msg_order = needed_order;
    hints->tx_attr->size = queues.send;
    hints->rx_attr->size = queues.receive;
    hints->tx_attr->inject_size = min_inject_size;
    hints->tx_attr->iov_limit = pieces_of_a_message;
    if (!selection.domain.empty())
        hints->domain_attr->name = strdup(selection.domain.c_str());
    set_source(*hints, selection.source_address);
    return hints;
}

unsigned lanes_of(const fi_domain_attr& domain) {
    // An FI_EP_MSG endpoint uses one transmit and one receive context of its domain.
    const std::size_t lanes = std::min({domain.ep_cnt, domain.tx_ctx_cnt, domain.rx_ctx_cnt});
    return static_cast<unsigned>(std::clamp<std::size_t>(lanes, 1, 4096));
}

Provider examine(ProviderKind kind, Info info) {
    const fi_domain_attr& domain = *info->domain_attr;
    const int mode = domain.mr_mode;
    Provider provider{
        .kind = kind,
        .info = nullptr,
        .virtual_addressing = (mode & FI_MR_VIRT_ADDR) != 0,
        .provider_keys = (mode & FI_MR_PROV_KEY) != 0,
        .pins_memory = (mode & FI_MR_ALLOCATED) != 0,
        .pages_on_demand = false,
        .local_registration = (mode & FI_MR_LOCAL) != 0,
        .max_lanes = lanes_of(domain),
        .queues = {info->tx_attr->size, info->rx_attr->size},
        .max_transfer = info->ep_attr->max_msg_size,
        .inject_size = info->tx_attr->inject_size,
        .key_size = domain.mr_key_size,
    };
    provider.info = std::move(info);
    // libfabric evaluates the variable in the same way.
    provider.pages_on_demand = kind == ProviderKind::verbs &&
                               rdma::is_switched_on(paging_variable) &&
                               rdma::paging_device(device_of(provider)).can_page;
    return provider;
}

Result<Provider> find(ProviderKind kind, const std::string& node, const std::string& service,
                      std::uint64_t flags, QueueSizes queues, const Selection& selection) {
    RPMEM_TRY(load_library());
    // A device with a smaller send queue is left out of the result, so search again without the
    // size.
    int status = 0;
    for (const std::size_t size : {queues.send, std::size_t{0}}) {
        const Info hints = make_hints(name_of(kind), {size, queues.receive}, selection);
        if (!hints)
            return fail(ErrorClass::resource_limit, ENOMEM,
                        "no memory to search for the provider {}", name_of(kind));
        fi_info* found = nullptr;
        status = fi_getinfo(api_version, node.c_str(), service.empty() ? nullptr : service.c_str(),
                            flags, hints.get(), &found);
        if (status == 0)
            return examine(kind, Info(found));
    }
    const char* const allowed = ::secure_getenv("FI_PROVIDER");
    if (allowed && rdma::excludes(allowed, name_of(kind)))
        return fail(ErrorClass::resource_limit, ENODATA,
                    "FI_PROVIDER={} keeps libfabric from its provider {}: unset it, or add the "
                    "name",
                    allowed, name_of(kind));
    return fail_fabric(ErrorClass::resource_limit, status,
                       "the libfabric provider {} does not serve the address {}", name_of(kind),
                       node);
}

std::optional<rdma::PagingDevice> first_that_pages() {
    std::error_code none; // a directory that cannot be examined counts as missing
    if (!std::filesystem::exists("/dev/infiniband", none))
        return std::nullopt;
    const auto devices = rdma::paging_devices();
    if (!devices)
        return std::nullopt;
    const auto found = std::ranges::find_if(*devices, &rdma::PagingDevice::can_page);
    return found == devices->end() ? std::nullopt : std::optional(*found);
}

} // namespace

Result<Provider> find_to_connect(ProviderKind kind, const std::string& node,
                                 const std::string& service, QueueSizes queues,
                                 const Selection& selection) {
    return find(kind, node, service, 0, queues, selection);
}

Result<Provider> find_to_listen(ProviderKind kind, const std::string& address,
                                const std::string& service, QueueSizes queues) {
    return find(kind, address, service, FI_SOURCE, queues, {});
}

std::size_t completions_of(const Provider& provider, std::size_t endpoints) {
    return endpoints * (provider.queues.send + provider.queues.receive);
}

std::string device_of(const Provider& provider) {
    const char* const name = provider.info->domain_attr->name;
    const std::string text = name ? name : "";
    // libfabric may append the type of the endpoint, as in mlx5_0-xrc.
    return provider.kind == ProviderKind::verbs ? text.substr(0, text.find('-')) : text;
}

std::string describe(const Provider& provider) {
    return fmt::format("{}, {}", name_of(provider.kind), device_of(provider));
}

std::string ask_for_paging(PagingPolicy policy, std::byte* memory, std::size_t size) {
    if (policy == PagingPolicy::never || rdma::is_switched_on(paging_variable))
        return {};
    std::string why = "RPMEM_ODP=on";
    if (policy == PagingPolicy::when_needed) {
        const auto device = first_that_pages();
        why = device ? rdma::why_not_pinned(*device, memory, size) : std::string();
        if (why.empty())
            return {};
    }
    if (set_before_start(paging_variable, "1"))
        return "memory is paged in on demand by the RDMA device (ODP): " + why;
    return "on-demand paging (ODP) is needed, but RDMA is already in use in this process; "
           "start the program with RPMEM_ODP=on: " +
           why;
}

Result<> check_paging(PagingPolicy policy, const Provider& provider) {
    if (policy != PagingPolicy::always || provider.kind != ProviderKind::verbs ||
        provider.pages_on_demand)
        return {};
    const rdma::PagingDevice device = rdma::paging_device(device_of(provider));
    return fail(ErrorClass::caller_fault, ENOTSUP,
                "RPMEM_ODP=on requires on-demand paging (ODP), and the RDMA device {} cannot "
                "provide it: {}; use RPMEM_ODP=auto, which pins memory where that is possible",
                device.name,
                device.can_page ? "RDMA is already in use in this process without it"
                                : device.why_not);
}

} // namespace rpmem::fabric
