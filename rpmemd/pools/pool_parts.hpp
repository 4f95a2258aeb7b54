// SPDX-License-Identifier: BSD-3-Clause
// Functions on the open parts of a pool, shared by opening, creating and removing a pool.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/pool.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

PartRules rules_of(const PoolOptions& options);

// Fails with EINVAL if the size of PART is not that in the pool set file, or if the size is AUTO
// and PART is not a Device DAX.
Result<> check_part_size(const PoolSetPart& expected, const PartFile& part);

// Fails with EFBIG if REQUESTED exceeds USABLE.
Result<> check_pool_size(std::uint64_t requested, std::uint64_t usable);

std::vector<std::uint64_t> sizes_of(const std::vector<PartFile>& parts);
std::vector<std::string> names_of(const std::vector<PartFile>& parts);
std::size_t count_headers(const std::vector<PartFile>& parts, HeaderLayout layout);

// Returns the sum over PARTS.
Result<DeviceState> device_state_of(const std::vector<PartFile>& parts);

// Drops PARTS from the page cache, so that the next reader reads from the medium. Pages that a
// process maps remain. Retries for about 0.5 s.
void drop_cache(const std::vector<PartFile>& parts);

} // namespace rpmem::target
