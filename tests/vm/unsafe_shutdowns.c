/* SPDX-License-Identifier: BSD-3-Clause */
// LD_PRELOAD library that sets the unsafe shutdown count of memory devices to UNSAFE_SHUTDOWNS,
// because emulated devices have none.
#include <stdlib.h>

struct ndctl_dimm;
long long ndctl_dimm_get_dirty_shutdown(struct ndctl_dimm* dimm);

long long ndctl_dimm_get_dirty_shutdown(struct ndctl_dimm* dimm) {
    (void)dimm;
    const char* count = getenv("UNSAFE_SHUTDOWNS");
    return count ? strtoll(count, NULL, 10) : -1;
}
