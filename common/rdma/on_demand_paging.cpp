// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/on_demand_paging.hpp"

#include "common/rdma/memory_lock.hpp"
#include "common/rdma/verbs_library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

namespace rpmem::rdma {
namespace {

struct PagingCapability {
    std::uint32_t capability;
    std::string_view name;
};

// The operations of lanes on registered memory.
constexpr std::array needs = {
    PagingCapability{IBV_ODP_SUPPORT_SEND, "send"},
    PagingCapability{IBV_ODP_SUPPORT_RECV, "receive"},
    PagingCapability{IBV_ODP_SUPPORT_WRITE, "write"},
    PagingCapability{IBV_ODP_SUPPORT_READ, "read"},
};

PagingDevice cannot(std::string name, std::string why) {
    return {std::move(name), false, std::move(why)};
}

using Context = std::unique_ptr<ibv_context, decltype(VerbsFunctions::close_device)>;
using DeviceList = std::unique_ptr<ibv_device*[], decltype(VerbsFunctions::free_device_list)>;

// Returns the context with the driver's query_device_ex(), or null if the driver has none. The
// inline function ibv_query_device_ex(3) does the same, but using it would link libibverbs.
verbs_context* extended_queries_of(ibv_context* context) {
    verbs_context* const extended = verbs_get_ctx(context);
    constexpr std::size_t needed = sizeof(verbs_context) - offsetof(verbs_context, query_device_ex);
    return extended && extended->sz >= needed && extended->query_device_ex ? extended : nullptr;
}

PagingDevice query(const VerbsFunctions& verbs, ibv_device* device) {
    std::string name = verbs.get_device_name(device);
    const Context context(verbs.open_device(device), verbs.close_device);
    if (!context)
        return cannot(std::move(name), fmt::format("it cannot be opened: {}", strerror(errno)));
    ibv_device_attr_ex attributes{};
    const ibv_query_device_ex_input input{};
    verbs_context* const extended = extended_queries_of(context.get());
    const int code =
        extended ? extended->query_device_ex(context.get(), &input, &attributes, sizeof(attributes))
                 : EOPNOTSUPP;
    if (code != 0 && code != EOPNOTSUPP && code != ENOSYS)
        return cannot(std::move(name), fmt::format("it cannot be queried: {}", strerror(code)));
    return judge_paging(std::move(name), attributes.odp_caps);
}

// Registers the range like the memory of a pool, and deregisters it again. Returns 0 or the errno
// value of the registration.
int try_to_pin(const VerbsFunctions& verbs, const std::string& name, void* address,
               std::size_t size) {
    const DeviceList list(verbs.get_device_list(nullptr), verbs.free_device_list);
    for (std::size_t i = 0; list && list[i]; ++i) {
        if (name != verbs.get_device_name(list[i]))
            continue;
        const Context context(verbs.open_device(list[i]), verbs.close_device);
        ibv_pd* const domain = context ? verbs.alloc_pd(context.get()) : nullptr;
        if (!domain)
            return 0; // libfabric will fail in the same way, and report it
        constexpr int rights =
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        ibv_mr* const region = verbs.reg_mr(domain, address, size, rights);
        const int code = region ? 0 : errno;
        if (region)
            verbs.dereg_mr(region);
        verbs.dealloc_pd(domain);
        return code;
    }
    return 0;
}

} // namespace

PagingDevice judge_paging(std::string name, const ibv_odp_caps& capabilities) {
    if ((capabilities.general_caps & IBV_ODP_SUPPORT) == 0)
        return cannot(std::move(name), "it has no on-demand paging");
    std::string missing;
    for (const PagingCapability& need : needs)
        if ((capabilities.per_transport_caps.rc_odp_caps & need.capability) == 0)
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", need.name);
    if (!missing.empty())
        return cannot(std::move(name), "its on-demand paging does not support: " + missing);
    return {std::move(name), true, {}};
}

Result<std::vector<PagingDevice>> paging_devices() {
    RPMEM_ASSIGN(const auto loaded, verbs_library());
    const VerbsFunctions& verbs = *loaded;
    const DeviceList list(verbs.get_device_list(nullptr), verbs.free_device_list);
    std::vector<PagingDevice> devices;
    for (std::size_t i = 0; list && list[i]; ++i)
        devices.push_back(query(verbs, list[i]));
    return devices;
}

PagingDevice paging_device(const std::string& name) {
    const auto devices = paging_devices();
    if (!devices)
        return cannot(name, devices.error().text);
    for (const PagingDevice& device : *devices)
        if (device.name == name)
            return device;
    return cannot(name, "there is no such device");
}

std::string why_not_pinned(const PagingDevice& device, void* address, std::size_t size) {
    const LockLimit limit = read_lock_limit();
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    if (judge_lock(limit, start, size) == LockVerdict::too_much)
        return explain_lock_limit(limit, start, size, name_of_user());
    const auto verbs = verbs_library();
    const int code =
        verbs ? try_to_pin(**verbs, device.name, address, std::min(size, limit.page)) : 0;
    return code == 0 ? std::string()
                     : fmt::format("the kernel refuses to pin it: {}", strerror(code));
}

} // namespace rpmem::rdma
