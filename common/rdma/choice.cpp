// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/choice.hpp"

#include "common/base/text.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::rdma {
namespace {

// IB_DEVICE_NAME_MAX of the kernel, without the final NUL.
constexpr std::size_t max_name = 63;
constexpr std::size_t max_devices = 64;
constexpr unsigned largest_port = 255;

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= max_name &&
           std::ranges::all_of(text,
                               [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/'; });
}

std::optional<AllowedDevice> parse_device(std::string_view text) {
    const auto colon = text.find(':');
    AllowedDevice device{std::string(text.substr(0, colon)), std::nullopt};
    if (!is_name(device.name))
        return std::nullopt;
    if (colon == std::string_view::npos)
        return device;
    device.port = parse_number<unsigned>(text.substr(colon + 1));
    if (device.port.value_or(0) == 0 || *device.port > largest_port)
        return std::nullopt;
    return device;
}

} // namespace

Result<std::vector<AllowedDevice>> parse_devices(std::string_view text) {
    std::vector<AllowedDevice> devices;
    for (std::string_view rest = text; !trimmed(text).empty();) {
        const auto comma = rest.find(',');
        auto device = parse_device(trimmed(rest.substr(0, comma)));
        if (!device || devices.size() == max_devices)
            return invalid("\"{}\" is not a list of devices; write NAME or NAME:PORT, at most {} "
                           "separated by commas, as in mlx5_0:1,mlx5_1",
                           text, max_devices);
        devices.push_back(std::move(*device));
        if (comma == std::string_view::npos)
            break;
        rest.remove_prefix(comma + 1);
    }
    return devices;
}

std::string text_of(const std::vector<AllowedDevice>& allowed) {
    std::string text;
    for (const AllowedDevice& device : allowed)
        text += fmt::format("{}{}{}", text.empty() ? "" : ",", device.name,
                            device.port ? fmt::format(":{}", *device.port) : "");
    return text;
}

const Device* find(const std::vector<Device>& devices, std::string_view name) {
    const auto found = std::ranges::find(devices, name, &Device::name);
    return found == devices.end() ? nullptr : &*found;
}

std::vector<const Port*> allowed_ports(const Device& device,
                                       const std::vector<AllowedDevice>& allowed) {
    std::vector<const Port*> ports;
    for (const Port& port : device.ports)
        if (allowed.empty() || std::ranges::any_of(allowed, [&](const AllowedDevice& entry) {
                return entry.name == device.name && entry.port.value_or(port.number) == port.number;
            }))
            ports.push_back(&port);
    return ports;
}

} // namespace rpmem::rdma
