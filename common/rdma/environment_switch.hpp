// Variables of libfabric's.
#pragma once

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace rpmem::rdma {

// Of those that are true or false.
inline bool is_switched_on(const char* variable) {
    const char* const value = ::secure_getenv(variable);
    if (!value)
        return false;
    for (const char* yes : {"1", "yes", "true", "on"})
        if (::strcasecmp(value, yes) == 0)
            return true;
    return false;
}

// Whether LIST, the value of FI_PROVIDER, leaves out NAME; see fabric(7): a list of names, or after
// a ^ of those that are not wanted.
inline bool excludes(std::string_view list, std::string_view name) {
    const bool negated = list.starts_with('^');
    if (negated)
        list.remove_prefix(1);
    bool is_listed = false;
    while (!list.empty() && !is_listed) {
        const auto end = std::min(list.find_first_of(",;"), list.size());
        is_listed = list.substr(0, end) == name;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return is_listed == negated;
}

} // namespace rpmem::rdma
