// SPDX-License-Identifier: BSD-3-Clause
// Confines a session after its pool is open, see docs/confinement.md.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/confinement/seccomp.hpp"

#include <string>
#include <vector>

namespace rpmem::target {

// What the confined session may still access, besides open files.
struct OpenPaths {
    std::vector<UniqueFd> directories; // directories of the parts, to be synced
    bool may_remove = false;           // files in and below these directories may be removed
    int statistics = -1;               // directory where a file is replaced, or -1; stays open
    int record = -1;                   // part with the record of the pool in its attribute, or -1
    RefusalLog log;
};

// The result of confine(), as texts for display.
struct Confinement {
    std::string holds;      // the active restrictions, or empty
    std::string is_missing; // why a restriction is missing, or empty
};

// Returns whether this rpmemd was built with a sanitizer, which needs more rights than the daemon.
[[nodiscard]] bool is_sanitized();

// Returns why confine() will not impose all restrictions, or an empty text if no reason is known.
[[nodiscard]] std::string why_not_confined();

// Confines the whole process as far as the kernel supports it. This is irrevocable. Call it after
// everything that opens files, loads libraries, connects, listens or resolves names, and before
// the process starts threads.
[[nodiscard]] Confinement confine(OpenPaths reach);

} // namespace rpmem::target
