// SPDX-License-Identifier: BSD-3-Clause
// Reads environment variables of libfabric.
#pragma once

#include "common/base/text.hpp"

#include <strings.h>

#include <cstdlib>
#include <string_view>

namespace rpmem::rdma {

// Returns the value of a boolean variable; false if it is not set.
inline bool is_switched_on(const char* variable) {
    const char* const value = ::secure_getenv(variable);
    if (!value)
        return false;
    for (const char* yes : {"1", "yes", "true", "on"})
        if (::strcasecmp(value, yes) == 0)
            return true;
    return false;
}

// Whether LIST, the value of FI_PROVIDER, excludes NAME. LIST names the providers to use or, after
// '^', those to exclude; see fabric(7).
inline bool excludes(std::string_view list, std::string_view name) {
    const bool negated = list.starts_with('^');
    if (negated)
        list.remove_prefix(1);
    bool is_listed = false;
    while (!list.empty() && !is_listed)
        is_listed = take_until(list, ",;") == name;
    return is_listed == negated;
}

} // namespace rpmem::rdma
