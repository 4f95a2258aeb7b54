// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/diagnosis.hpp"

#include "common/rdma/environment_switch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::rdma {
namespace {

template <typename... Args>
Diagnosis found(Fault fault, fmt::format_string<Args...> format, Args&&... args) {
    return {fault, fmt::format(format, std::forward<Args>(args)...)};
}

Diagnosis diagnose_setting(const RdmaFacts& facts) {
    const auto& devices = facts.devices.devices;
    for (const AllowedDevice& allowed : facts.allowed) {
        const Device* const device = find(devices, allowed.name);
        if (device && !allowed_ports(*device, {allowed}).empty())
            return {};
    }
    if (facts.allowed.empty())
        return {};
    return found(Fault::unknown_device, "{}={}: no such device or port; there is {}", facts.setting,
                 text_of(facts.allowed), describe(devices));
}

Diagnosis diagnose_file(FileAccess access, const std::string& file, const char* module) {
    if (access == FileAccess::missing)
        return found(Fault::no_device_file,
                     "/dev/infiniband/{} is missing; load the module ({}: modprobe {}) or, in a "
                     "container, pass the device through",
                     file, module, module);
    if (access == FileAccess::forbidden)
        return found(Fault::no_permission,
                     "no permission to read and write /dev/infiniband/{}; give it the mode 0666, "
                     "as rdma-core's udev rules do, or add the user to the group that may use it",
                     file);
    return {};
}

Diagnosis diagnose_ports(const Device& device, const RdmaFacts& facts) {
    const auto ports = allowed_ports(device, facts.allowed);
    if (std::ranges::any_of(ports, &Port::is_active))
        return {};
    std::string states;
    for (const Port* port : ports)
        states += fmt::format("{}port {} is {}", states.empty() ? "" : ", ", port->number,
                              port->state.empty() ? "in an unknown state" : port->state);
    return found(Fault::no_active_port,
                 "{} has no active port ({}); is the cable plugged in, the network interface up "
                 "(ip link set DEVICE up), and on InfiniBand a subnet manager running?",
                 device.name, states.empty() ? "it has no ports" : states);
}

std::vector<const Device*> allowed_devices(const RdmaFacts& facts) {
    std::vector<const Device*> allowed;
    for (const Device& device : facts.devices.devices)
        if (facts.allowed.empty() || !allowed_ports(device, facts.allowed).empty())
            allowed.push_back(&device);
    return allowed;
}

bool has_interface(const std::vector<const Port*>& ports, const std::string& interface) {
    return std::ranges::any_of(ports, [&](const Port* port) {
        return std::ranges::find(port->interfaces, interface) != port->interfaces.end();
    });
}

// Returns why DEVICE cannot be used on the route that starts at its interface, or no fault.
Diagnosis diagnose_owner(const Device& device, const RdmaFacts& facts, const LocalEnd& end) {
    Diagnosis own = diagnose_device(device, facts);
    const bool is_allowed = has_interface(allowed_ports(device, facts.allowed), end.interface);
    if (is_allowed && own.fault == Fault::none)
        return {};
    return found(Fault::other_device, "the route starts at {} ({}) of the RDMA device {}, {}",
                 end.address, end.interface, device.name,
                 is_allowed ? "which cannot be used: " + own.text
                            : fmt::format("which {}={} does not allow", facts.setting,
                                          text_of(facts.allowed)));
}

bool are_all_infiniband(const std::vector<const Device*>& devices) {
    return std::ranges::all_of(devices, [](const Device* device) {
        return std::ranges::all_of(
            device->ports, [](const Port& port) { return port.link_layer == "InfiniBand"; });
    });
}

std::string devices_with_interfaces(const std::vector<const Device*>& devices) {
    std::string text;
    for (const Device* device : devices)
        text += (text.empty() ? "" : ", ") + describe(*device);
    return text;
}

Diagnosis diagnose_without_device(const std::vector<const Device*>& allowed, const LocalEnd& end) {
    const std::string there_is = devices_with_interfaces(allowed);
    if (end.loopback)
        return found(Fault::not_an_rdma_address,
                     "{} is a loopback address, which no RDMA device has; name the machine by an "
                     "address of a device: there is {}",
                     end.address, there_is);
    if (!end.infiniband && are_all_infiniband(allowed))
        return found(Fault::wrong_link_layer,
                     "the route starts at {} ({}) on Ethernet, and the link layer of {} is "
                     "InfiniBand; name the machine by its address there (IP over InfiniBand: "
                     "modprobe ib_ipoib, and an address on both machines)",
                     end.address, end.interface, there_is);
    return found(Fault::not_an_rdma_address,
                 "the route starts at {} ({}), an address that no RDMA device owns; name the "
                 "machine by its address in the network of a device: there is {}",
                 end.address, end.interface, there_is);
}

} // namespace

Diagnosis diagnose_device(const Device& device, const RdmaFacts& facts) {
    if (const std::string lack = lack_of(device); !lack.empty())
        return found(Fault::no_connections, "{} cannot be used: {}", device.name, lack);
    if (device.uverbs.empty())
        return found(Fault::no_module,
                     "{} cannot be used from programs: the module ib_uverbs is not loaded; "
                     "modprobe ib_uverbs, or install rdma-core, which does so when the machine "
                     "starts",
                     device.name);
    if (auto file = diagnose_file(device.access, device.uverbs, "ib_uverbs");
        file.fault != Fault::none)
        return {file.fault, device.name + " cannot be used: " + file.text};
    return diagnose_ports(device, facts);
}

Diagnosis diagnose_devices(const RdmaFacts& facts) {
    const Devices& devices = facts.devices;
    if (!facts.providers.empty() && excludes(facts.providers, "verbs"))
        return found(Fault::excluded,
                     "FI_PROVIDER={} keeps libfabric from its provider verbs: unset it, or add the "
                     "name",
                     facts.providers);
    if (!devices.has_subsystem)
        return found(Fault::no_subsystem,
                     "there is no RDMA device: the RDMA subsystem of the kernel is not loaded "
                     "(/sys/class/infiniband does not exist); load the driver of the device, or "
                     "rdma_rxe for RDMA in software");
    if (devices.devices.empty())
        return found(Fault::no_device,
                     "there is no RDMA device; load the driver of the device, or, for RDMA in "
                     "software, run: rdma link add rxe0 type rxe netdev INTERFACE");
    if (auto setting = diagnose_setting(facts); setting.fault != Fault::none)
        return setting;
    Diagnosis all;
    for (const Device* device : allowed_devices(facts)) {
        Diagnosis one = diagnose_device(*device, facts);
        if (one.fault == Fault::none)
            return diagnose_file(devices.manager_access, "rdma_cm", "rdma_ucm");
        all.fault = all.fault == Fault::none ? one.fault : all.fault;
        all.text += (all.text.empty() ? "" : "; ") + one.text;
    }
    return all;
}

Diagnosis diagnose(const RdmaFacts& facts, const LocalEnd& end) {
    if (auto devices = diagnose_devices(facts); devices.fault != Fault::none)
        return devices;
    if (!end.problem.empty())
        return {Fault::no_address, end.problem};
    for (const Device& device : facts.devices.devices)
        if (has_interface(allowed_ports(device, {}), end.interface))
            return diagnose_owner(device, facts, end);
    return diagnose_without_device(allowed_devices(facts), end);
}

bool is_certain(const Diagnosis& diagnosis, const RdmaFacts& facts) {
    if (diagnosis.fault != Fault::wrong_link_layer && diagnosis.fault != Fault::not_an_rdma_address)
        return diagnosis.fault != Fault::none && diagnosis.fault != Fault::no_address;
    return std::ranges::all_of(facts.devices.devices, [](const Device& device) {
        return std::ranges::any_of(device.ports,
                                   [](const Port& port) { return !port.interfaces.empty(); });
    });
}

} // namespace rpmem::rdma
