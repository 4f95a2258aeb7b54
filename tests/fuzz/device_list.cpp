// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the list of devices in RPMEM_DEVICE and in the daemon's setting `device`. A name with a
// slash, a port out of range, too many devices, or a list that is written and read back differently
// fails.
#include "common/rdma/choice.hpp"
#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    const auto devices = rdma::parse_devices(fuzz::text_of_input(data, size));
    if (fuzz::is_refused(devices, {EINVAL}))
        return 0;
    constexpr std::size_t max_devices = 64;
    constexpr std::size_t max_name = 63;
    constexpr unsigned largest_port = 255;
    require(devices->size() <= max_devices, "the devices are bounded");
    for (const auto& device : *devices) {
        require(!device.name.empty() && device.name.size() <= max_name &&
                    device.name.find('/') == std::string::npos,
                "a name is that of a folder beneath /sys/class/infiniband");
        require(!device.port || (*device.port >= 1 && *device.port <= largest_port),
                "a port is from 1 to 255");
    }
    const std::string text = text_of(*devices);
    const auto again = rdma::parse_devices(text);
    require(again && text_of(*again) == text && again->size() == devices->size(),
            "a list is read again as it was");
    return 0;
}
