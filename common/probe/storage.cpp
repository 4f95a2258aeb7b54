// SPDX-License-Identifier: BSD-3-Clause
#include "common/probe/storage.hpp"

#include "common/base/deep_flush.hpp"
#include "common/base/kernel_files.hpp"
#include "common/base/text.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace rpmem::probe {
namespace {

namespace fs = std::filesystem;

std::uint64_t number_of(std::string_view text) {
    return parse_number<std::uint64_t>(text).value_or(0);
}

constexpr std::uint64_t sector = 512;

// DIRECTORY is that of the device in sysfs. Its file dev contains MAJOR:MINOR.
void add_deep_flush(PersistentDevice& device, const fs::path& directory, bool is_character,
                    const fs::path& root) {
    const std::string number = line_of(directory / "dev");
    std::string_view rest = number;
    const auto first = parse_number<unsigned>(take_until(rest, ":"));
    const auto second = parse_number<unsigned>(rest);
    const auto file = first && second
                          ? find_deep_flush(makedev(*first, *second), is_character, root)
                          : std::nullopt;
    if (!file)
        return;
    device.deep_flush = file->native();
    device.may_deep_flush = may_write(*file);
}

std::vector<PersistentDevice> block_devices(const fs::path& root) {
    std::vector<PersistentDevice> devices;
    for (const std::string& name : names_in(root / "sys/class/block")) {
        if (!name.starts_with("pmem") || name.find('p', 1) != std::string::npos)
            continue; // a partition; add_mounts() reports its mount for the whole device
        const fs::path directory = root / "sys/class/block" / name;
        const std::string mode =
            name.ends_with('s') ? "sector" : line_of(directory / "device/mode");
        PersistentDevice device{.name = "/dev/" + name,
                                .mode = mode == "memory" ? "fsdax" : mode,
                                .size = number_of(line_of(directory / "size")) * sector};
        add_deep_flush(device, directory, false, root);
        devices.push_back(std::move(device));
    }
    return devices;
}

std::vector<PersistentDevice> character_devices(const fs::path& root) {
    std::vector<PersistentDevice> devices;
    for (const std::string& name : names_in(root / "sys/bus/dax/devices")) {
        const fs::path directory = root / "sys/bus/dax/devices" / name;
        std::error_code none;
        // With the driver kmem, the memory is part of the RAM of the system.
        if (fs::read_symlink(directory / "driver", none).filename() == "kmem")
            continue;
        PersistentDevice device{.name = "/dev/" + name,
                                .mode = "devdax",
                                .size = number_of(line_of(directory / "size"))};
        add_deep_flush(device, directory, true, root);
        devices.push_back(std::move(device));
    }
    return devices;
}

// Returns whether SOURCE is DEVICE or a partition of it, such as /dev/pmem0p1.
bool is_on(const std::string& source, const std::string& device) {
    return source == device || source.starts_with(device + "p");
}

// See proc_pid_mountinfo(5). The mount point is the fifth field, and the device is the second field
// after the hyphen.
void add_mounts(std::vector<PersistentDevice>& devices, const fs::path& root) {
    std::ifstream file(root / "proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::vector<std::string> words;
        for (std::string word; fields >> word;)
            words.push_back(word);
        const auto hyphen = std::find(words.begin(), words.end(), "-");
        if (words.size() < 6 || words.end() - hyphen < 4)
            continue;
        for (PersistentDevice& device : devices) {
            if (!device.mount.empty() || !is_on(hyphen[2], device.name))
                continue;
            device.mount = words[4];
            const std::string options = "," + words[5] + "," + hyphen[3] + ",";
            device.is_mounted_dax = options.find(",dax,") != std::string::npos ||
                                    options.find(",dax=always,") != std::string::npos;
        }
    }
}

std::string domain_of(const fs::path& root) {
    for (const std::string& name : names_in(root / "sys/bus/nd/devices"))
        if (name.starts_with("region"))
            if (auto domain = line_of(root / "sys/bus/nd/devices" / name / "persistence_domain");
                !domain.empty())
                return domain;
    return {};
}

std::string vendor_of(const fs::path& root) {
    std::ifstream file(root / "proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("vendor_id"))
            return line.substr(std::min(line.find(':') + 2, line.size()));
    return {};
}

} // namespace

Storage examine_storage(const fs::path& root) {
    std::vector<PersistentDevice> devices = block_devices(root);
    std::ranges::move(character_devices(root), std::back_inserter(devices));
    add_mounts(devices, root);
    return {.devices = std::move(devices),
            .persistence_domain = domain_of(root),
            .processor = vendor_of(root)};
}

std::string advise_on_appliance(const Storage& storage) {
    if (storage.devices.empty())
        return "no persistent memory: the appliance method (persist-apm) would never be used";
    if (storage.persistence_domain == "cpu_cache")
        return "the caches are in the persistence domain (eADR): the appliance method "
               "(persist-apm) is safe";
    if (storage.processor == "GenuineIntel")
        return "leave persist-apm off unless Data Direct I/O is turned off for the RDMA device "
               "(in the firmware, or in the PCIe root port): with it, arriving data stay in the "
               "cache and are lost in a power failure. This program cannot check that";
    return "leave persist-apm off unless you know that data that arrive over RDMA go to memory and "
           "not to a cache. This program cannot check that";
}

} // namespace rpmem::probe
