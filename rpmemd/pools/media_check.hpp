// SPDX-License-Identifier: BSD-3-Clause
// Checks the media of a pool, so that the operator is warned before a client relies on them.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/pool.hpp"

#include <vector>

namespace rpmem::target {

// Logs a warning for each volatile or remote file system, and for each persistent memory for which
// this user may not request deep flushes. ON_PMEM has one entry for each part. If OPTIONS refuse
// such parts, fails with EINVAL for the file system, and with EACCES for the deep flush.
Result<> check_media(const PoolOptions& options, const std::vector<PartFile>& parts,
                     const std::vector<bool>& on_pmem, const Log& log);

} // namespace rpmem::target
