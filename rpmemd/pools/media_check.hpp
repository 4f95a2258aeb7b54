// What the operator has to know of the media under a pool before its peer relies on them.
#pragma once

#include "base/log.hpp"
#include "base/result.hpp"
#include "pools/part_file.hpp"
#include "pools/store.hpp"

#include <vector>

namespace rpmem::target {

// Warns of parts on media that forget or are another machine's, and of persistent memory (ON_PMEM,
// for each part) whose deep flush this user may not ask for; once for each such medium. EINVAL or
// EACCES where OPTIONS refuse them.
Result<> check_media(const StoreOptions& options, const std::vector<PartFile>& parts,
                     const std::vector<bool>& on_pmem, const Log& log);

} // namespace rpmem::target
