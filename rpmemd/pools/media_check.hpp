// SPDX-License-Identifier: BSD-3-Clause
// Warnings for the operator of the media under a pool, before its peer relies on them.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "rpmemd/pools/part_file.hpp"
#include "rpmemd/pools/store.hpp"

#include <vector>

namespace rpmem::target {

// Warns of parts on media that forget or are another machine's, and of persistent memory (ON_PMEM,
// for each part) whose deep flush this user may not ask for; once for each such medium. EINVAL or
// EACCES where OPTIONS refuse them.
Result<> check_media(const StoreOptions& options, const std::vector<PartFile>& parts,
                     const std::vector<bool>& on_pmem, const Log& log);

} // namespace rpmem::target
