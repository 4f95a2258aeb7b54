// SPDX-License-Identifier: BSD-3-Clause
// The parts of a pool set, opened, and what opening and creating a pool have in common.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/part_file.hpp"
#include "rpmemd/pools/store.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

PartRules rules_of(const StoreOptions& options);

// EINVAL if PART has another size than the pool set file says, or AUTO and is no Device DAX.
Result<> check_part_size(const PoolSetPart& expected, const PartFile& part);

// EFBIG if SIZE bytes do not fit.
Result<> check_pool_size(std::uint64_t requested, std::uint64_t usable);

std::vector<std::uint64_t> sizes_of(const std::vector<PartFile>& parts);
std::vector<std::string> names_of(const std::vector<PartFile>& parts);
std::size_t count_headers(const std::vector<PartFile>& parts, HeaderLayout layout);

// Sum over PARTS.
Result<DeviceState> device_state_of(const std::vector<PartFile>& parts);

// The next reader of PARTS has them from the medium, unless somebody maps them. Takes 0.5 s at most
// where pages stay.
void drop_cache(const std::vector<PartFile>& parts);

} // namespace rpmem::target
