// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/search.hpp"

#include "common/base/host_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rpmem::fabric {
namespace {

using rdma::Device;
using rdma::Fault;
using rdma::LocalEnd;
using rdma::Port;
using rdma::RdmaFacts;

// Returns the variables of libfabric that limit the choice of devices, for an error text. The error
// texts of libfabric do not mention them.
std::string variables_in_force() {
    std::string text;
    for (const char* name : {"FI_VERBS_IFACE", "FI_VERBS_DEVICE_NAME", "FI_VERBS_GID_IDX"})
        if (const char* value = ::secure_getenv(name))
            text += fmt::format("; {}={} is set", name, value);
    return text;
}

Failure explain(const Error& error, const RdmaFacts& facts, const LocalEnd& end) {
    const rdma::Diagnosis diagnosis = rdma::diagnose(facts, end);
    if (diagnosis.fault != Fault::none)
        return fail(error.kind, error.code, "verbs: {}", diagnosis.text);
    return fail(error.kind, error.code,
                "{}, although a device seems to be usable; is the package ibverbs-providers "
                "installed? FI_LOG_LEVEL=info shows details{}",
                error.text, variables_in_force());
}

// Returns the addresses from which PORTS can reach HOST. An empty address stands for that of the
// route.
std::vector<std::string> source_addresses(const std::vector<const Port*>& ports,
                                          const LocalEnd& end, const std::string& host) {
    std::vector<std::string> addresses;
    bool are_known = false;
    for (const Port* port : ports) {
        if (std::ranges::find(port->interfaces, end.interface) != port->interfaces.end())
            return {""};
        are_known = are_known || !port->interfaces.empty();
    }
    if (!are_known)
        return {""}; // the device does not report its interfaces, so libfabric has to decide
    for (const Port* port : ports)
        for (const std::string& interface : port->interfaces)
            if (auto address = rdma::address_like(interface, host);
                port->is_active() && !address.empty())
                addresses.push_back(std::move(address));
    return addresses;
}

// Tries the allowed devices in the order of the setting.
Result<Provider> find_among(const RdmaFacts& facts, const LocalEnd& end, const std::string& host,
                            const std::string& service, QueueSizes queues) {
    Error last{ENODATA, ErrorClass::resource_limit,
               fmt::format("no device of {} reaches {}", rdma::text_of(facts.allowed), host)};
    for (const rdma::AllowedDevice& allowed : facts.allowed) {
        const Device* const device = rdma::find(facts.devices.devices, allowed.name);
        if (!device || rdma::diagnose_device(*device, facts).fault != Fault::none)
            continue;
        for (const std::string& source :
             source_addresses(rdma::allowed_ports(*device, {allowed}), end, host)) {
            auto found =
                find_to_connect(ProviderKind::verbs, host, service, queues, {device->name, source});
            if (found)
                return found;
            last = std::move(found).error();
        }
    }
    return Failure(std::move(last));
}

} // namespace

Result<RdmaFacts> look_around(const DeviceSetting& setting) {
    RPMEM_ASSIGN(auto allowed, in_context(setting.name, rdma::parse_devices(setting.value)));
    const char* const providers = ::secure_getenv("FI_PROVIDER");
    return RdmaFacts{rdma::examine_devices(), std::move(allowed), setting.name,
                     providers ? providers : ""};
}

Result<Provider> search_to_connect(ProviderKind kind, const std::string& host,
                                   const std::string& service, QueueSizes queues,
                                   const DeviceSetting& setting) {
    // libfabric would query name servers for a name.
    if (!look_up_number(host, ""))
        return fail(ErrorClass::resource_limit, ENODATA, "{} is not a numeric address", host);
    if (kind != ProviderKind::verbs)
        return find_to_connect(kind, host, service, queues);
    const LocalEnd end = rdma::local_end_to(host);
    RPMEM_ASSIGN(const auto facts, look_around(setting));
    // If no device can be used, libfabric is not even loaded. If the setting names devices, one of
    // them may reach HOST from another address than that of the route.
    const bool is_hopeless = setting.value.empty() || facts.devices.devices.empty();
    if (const auto diagnosis = rdma::diagnose(facts, end);
        is_hopeless && rdma::is_certain(diagnosis, facts))
        return fail(ErrorClass::resource_limit, ENODATA, "verbs: {}", diagnosis.text);
    // The kernel resolves a loopback address to an arbitrary device, and connecting then fails.
    Result<Provider> found = fail(ErrorClass::resource_limit, ENODATA,
                                  "the libfabric provider verbs does not serve {}", host);
    if (!end.loopback)
        found = setting.value.empty() ? find_to_connect(kind, host, service, queues)
                                      : find_among(facts, end, host, service, queues);
    return found ? std::move(found) : explain(found.error(), facts, end);
}

Result<Provider> search_to_listen(ProviderKind kind, const std::string& address,
                                  const std::string& service, QueueSizes queues,
                                  const DeviceSetting& setting) {
    auto found = find_to_listen(kind, address, service, queues);
    if (kind != ProviderKind::verbs || (found && setting.value.empty()))
        return found;
    RPMEM_ASSIGN(const auto facts, look_around(setting));
    const LocalEnd end = rdma::local_end_at(address);
    if (!found)
        return explain(found.error(), facts, end);
    // The address selects the device. The setting may forbid that device.
    const auto diagnosis = rdma::diagnose(facts, end);
    const bool is_allowed = std::ranges::any_of(
        facts.allowed, [&](const auto& each) { return each.name == device_of(*found); });
    if (!is_allowed || diagnosis.fault == Fault::other_device)
        return fail(ErrorClass::resource_limit, ENODATA, "verbs: {}",
                    diagnosis.fault != Fault::none
                        ? diagnosis.text
                        : fmt::format("{} is an address of the RDMA device {}, which {}={} does "
                                      "not allow",
                                      address, device_of(*found), setting.name, setting.value));
    return found;
}

} // namespace rpmem::fabric
