// SPDX-License-Identifier: BSD-3-Clause
// Rights that a session gives up once its pool is open: see docs/confinement.md.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/confinement/seccomp.hpp"

#include <string>
#include <vector>

namespace rpmem::target {

// The files that the session needs besides those that are open already.
struct OpenPaths {
    std::vector<UniqueFd> directories; // of the parts: to be synced
    bool may_remove = false;           // files in and below them
    int statistics = -1;               // directory where a file is replaced; stays open
    int record = -1;                   // file with the record of the pool as an attribute
    RefusalLog log;
};

// For people.
struct Confinement {
    std::string holds;      // empty: nothing does
    std::string is_missing; // and why; empty: nothing is
};

// This rpmemd was built with a sanitizer, which needs more of the system than the daemon does.
[[nodiscard]] bool is_sanitized();

// Why there will be something missing, whatever is tried; empty: nothing is known of.
[[nodiscard]] std::string why_not_confined();

// As far as this kernel can, for good, for all of the process. Before it starts threads, and behind
// all that opens files, loads libraries, connects, listens, or looks up names.
[[nodiscard]] Confinement confine(OpenPaths reach);

} // namespace rpmem::target
