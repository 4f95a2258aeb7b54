// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/pool_parts.hpp"

#include "rpmemd/pools/headers/shutdown_state.hpp"

#include <chrono>
#include <thread>

namespace rpmem::target {

PartRules rules_of(const PoolOptions& options) {
    return {options.part_mode, options.read_only, options.cancelled, options.failures};
}

Result<> check_part_size(const PoolSetPart& expected, const PartFile& part) {
    if (!expected.size && !part.is_device_dax())
        return fail(ErrorClass::caller_fault, EINVAL,
                    "part {} has size AUTO but is no Device DAX; give its size",
                    part.path().native());
    if (expected.size && *expected.size != part.size())
        return fail(ErrorClass::caller_fault, EINVAL,
                    "part {} has {} bytes, the pool set file says {}", part.path().native(),
                    part.size(), *expected.size);
    return {};
}

Result<> check_pool_size(std::uint64_t requested, std::uint64_t usable) {
    if (requested <= usable)
        return {};
    return fail(ErrorClass::caller_fault, EFBIG,
                "{} bytes are wanted, the pool has {}; enlarge its parts", requested, usable);
}

std::vector<std::uint64_t> sizes_of(const std::vector<PartFile>& parts) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(parts.size());
    for (const auto& part : parts)
        sizes.push_back(part.size());
    return sizes;
}

std::vector<std::string> names_of(const std::vector<PartFile>& parts) {
    std::vector<std::string> names;
    names.reserve(parts.size());
    for (const auto& part : parts)
        names.push_back(part.path().native());
    return names;
}

std::size_t count_headers(const std::vector<PartFile>& parts, HeaderLayout layout) {
    switch (layout) {
    case HeaderLayout::every_part:
        return parts.size();
    case HeaderLayout::first_part_only:
        return parts.empty() ? 0 : 1;
    case HeaderLayout::none:
        break;
    }
    return 0;
}

Result<DeviceState> device_state_of(const std::vector<PartFile>& parts) {
    DeviceState sum;
    for (const auto& part : parts)
        RPMEM_TRY(add_device_state(sum, part.fd(), part.path().native()));
    return sum;
}

void drop_cache(const std::vector<PartFile>& parts) {
    // The kernel skips pages that it is using at the moment, so retry.
    constexpr int attempts = 10;
    constexpr std::chrono::milliseconds pause(50);
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt > 0)
            std::this_thread::sleep_for(pause);
        bool all = true;
        for (const PartFile& part : parts)
            all &= part.drop_cache();
        if (all)
            return;
    }
}

} // namespace rpmem::target
