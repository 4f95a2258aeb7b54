// The settings that are read when the library is loaded; see librpmem(7).
#pragma once

namespace rpmem {

// As secure_getenv(3), but RPMEM_CMD, RPMEM_MAX_NLANES and RPMEM_WORK_QUEUE_SIZE have the values
// that they had at load.
const char* setting_from_environment(const char* name);

} // namespace rpmem
