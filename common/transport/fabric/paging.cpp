#include "common/transport/fabric/paging.hpp"

#include "common/rdma/environment_switch.hpp"
#include "common/rdma/on_demand_paging.hpp"
#include "common/transport/fabric/library.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

namespace rpmem::fabric {
namespace {

// See fi_verbs(7).
constexpr const char* paging_variable = "FI_VERBS_USE_ODP";

std::optional<rdma::PagingDevice> first_that_pages() {
    std::error_code none; // cannot be looked at: there is none for us
    if (!std::filesystem::exists("/dev/infiniband", none))
        return std::nullopt;
    const auto devices = rdma::paging_devices();
    if (!devices)
        return std::nullopt;
    const auto found = std::ranges::find_if(*devices, &rdma::PagingDevice::can_page);
    return found == devices->end() ? std::nullopt : std::optional(*found);
}

} // namespace

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
    return "on-demand paging (ODP) would be needed, but RDMA is in use in this process already; "
           "start the program with RPMEM_ODP=on: " +
           why;
}

Result<> check_paging(PagingPolicy policy, const Provider& provider) {
    if (policy != PagingPolicy::always || provider.kind != ProviderKind::verbs ||
        provider.pages_on_demand)
        return {};
    const rdma::PagingDevice device = rdma::paging_device(device_of(provider));
    return fail(ErrorClass::caller_fault, ENOTSUP,
                "RPMEM_ODP=on asks for on-demand paging (ODP), and the RDMA device {} cannot be "
                "used so: {}; use RPMEM_ODP=auto, which pins memory wherever that is possible",
                device.name,
                device.can_page ? "RDMA is in use in this process already, without it"
                                : device.why_not);
}

} // namespace rpmem::fabric
