// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/settings/load_time.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace rpmem::initiator {
namespace {

struct Kept {
    const char* name;
    char* value;
};

// Without constructors and destructors, so that only keep_values() runs at load and only
// free_values() at unload.
constinit std::array<Kept, 3> kept = {{
    {"RPMEM_CMD", nullptr},
    {"RPMEM_MAX_NLANES", nullptr},
    {"RPMEM_WORK_QUEUE_SIZE", nullptr},
}};

constinit std::optional<FileIdentity> standard_error;

__attribute__((constructor)) void keep_values() {
    standard_error = identity_of(STDERR_FILENO);
    for (Kept& entry : kept)
        if (const char* value = ::secure_getenv(entry.name))
            entry.value = strdup(value);
}

__attribute__((destructor)) void free_values() {
    for (Kept& entry : kept) {
        std::free(entry.value);
        entry.value = nullptr;
    }
}

} // namespace

const char* setting_from_environment(const char* name) {
    for (const Kept& entry : kept)
        if (std::strcmp(entry.name, name) == 0)
            return entry.value;
    return ::secure_getenv(name);
}

std::optional<FileIdentity> standard_error_at_load() { return standard_error; }

} // namespace rpmem::initiator
