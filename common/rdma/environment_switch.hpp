// Variables of libfabric's that are true or false.
#pragma once

#include <strings.h>

#include <cstdlib>
#include <initializer_list>

namespace rpmem::rdma {

inline bool is_switched_on(const char* variable) {
    const char* const value = ::secure_getenv(variable);
    if (!value)
        return false;
    for (const char* yes : {"1", "yes", "true", "on"})
        if (::strcasecmp(value, yes) == 0)
            return true;
    return false;
}

} // namespace rpmem::rdma
