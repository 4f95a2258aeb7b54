// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/devices.hpp"

#include "common/base/kernel_files.hpp"
#include "common/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace rpmem::rdma {
namespace {

namespace fs = std::filesystem;

unsigned number_of(std::string_view text) { return parse_number<unsigned>(text).value_or(0); }

// Returns ACTIVE for "4: ACTIVE".
std::string word_of_state(const std::string& line) {
    const auto blank = line.find(' ');
    return blank == std::string::npos ? line : line.substr(blank + 1);
}

FileAccess access_to(const fs::path& file) {
    if (::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0)
        return FileAccess::usable;
    return errno == EACCES || errno == EPERM || errno == EROFS ? FileAccess::forbidden
                                                               : FileAccess::missing;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
}

// On Ethernet, gid_attrs/ndevs names the network interface of each GID of a port.
void add_interfaces_of_addresses(Port& port, const fs::path& port_directory) {
    const fs::path directory = port_directory / "gid_attrs" / "ndevs";
    for (const std::string& index : names_in(directory))
        add_once(port.interfaces, line_of(directory / index));
}

// On InfiniBand, the network interface (IPoIB) has the same parent device in sysfs as DEVICE.
void add_child_interfaces(Device& device, const fs::path& root) {
    const fs::path directory = root / "sys/class/net";
    for (const std::string& interface : names_in(directory)) {
        std::error_code none;
        if (!fs::exists(directory / interface / "device/infiniband" / device.name, none))
            continue;
        const unsigned number = number_of(line_of(directory / interface / "dev_port")) + 1;
        for (Port& port : device.ports)
            if (port.number == number)
                add_once(port.interfaces, interface);
    }
}

std::vector<Port> ports_of(const fs::path& directory) {
    std::vector<Port> ports;
    for (const std::string& name : names_in(directory)) {
        Port port;
        port.number = number_of(name);
        port.state = word_of_state(line_of(directory / name / "state"));
        port.link_layer = line_of(directory / name / "link_layer");
        add_interfaces_of_addresses(port, directory / name);
        ports.push_back(std::move(port));
    }
    std::sort(ports.begin(), ports.end(),
              [](const Port& one, const Port& other) { return one.number < other.number; });
    return ports;
}

std::string uverbs_of(const std::string& device, const fs::path& root) {
    const fs::path directory = root / "sys/class/infiniband_verbs";
    for (const std::string& name : names_in(directory))
        if (line_of(directory / name / "ibdev") == device)
            return name;
    return {};
}

Device examine(const std::string& name, const fs::path& root) {
    const fs::path directory = root / "sys/class/infiniband" / name;
    Device device;
    device.name = name;
    std::error_code none;
    device.driver = fs::read_symlink(directory / "device/driver", none).filename().string();
    device.ports = ports_of(directory / "ports");
    add_child_interfaces(device, root);
    device.uverbs = uverbs_of(name, root);
    if (!device.uverbs.empty())
        device.access = access_to(root / "dev/infiniband" / device.uverbs);
    return device;
}

} // namespace

Devices examine_devices(const fs::path& root) {
    Devices found;
    std::error_code none;
    found.has_subsystem = fs::is_directory(root / "sys/class/infiniband", none);
    found.manager_access = access_to(root / "dev/infiniband/rdma_cm");
    for (const std::string& name : names_in(root / "sys/class/infiniband"))
        found.devices.push_back(examine(name, root));
    return found;
}

std::string lack_of(const Device& device) {
    if (device.driver.starts_with("mana") || device.name.starts_with("mana"))
        return "its only queue pair type is raw packet (manadv(7)), which has no remote writes";
    if (device.driver.starts_with("efa") || device.name.starts_with("efa"))
        return "it has no reliable connected queue pairs (efadv(7))";
    return {};
}

std::string describe(const Device& device) {
    std::string ports;
    for (const Port& port : device.ports) {
        ports += fmt::format("{}port {} {}", ports.empty() ? "" : "; ", port.number,
                             port.state.empty() ? "in an unknown state" : port.state);
        if (!port.link_layer.empty())
            ports += ", " + port.link_layer;
        for (const std::string& interface : port.interfaces)
            ports += ", " + interface;
    }
    return fmt::format("{} ({})", device.name, ports.empty() ? "no ports" : ports);
}

std::string describe(const std::vector<Device>& devices) {
    std::string text;
    for (const Device& device : devices)
        text += (text.empty() ? "" : ", ") + describe(device);
    return text;
}

} // namespace rpmem::rdma
