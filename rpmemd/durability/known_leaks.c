/* SPDX-License-Identifier: BSD-3-Clause */
// Read by LeakSanitizer, in its builds only. pmem2_map_delete(3) of libpmem2 1.12.1 returns 0 and
// leaves 144 bytes of its own behind for each map of pmem2_map_from_existing(3).
#define SEEN_BY_THE_RUNTIME __attribute__((visibility("default")))

SEEN_BY_THE_RUNTIME const char* __lsan_default_suppressions(void);
SEEN_BY_THE_RUNTIME const char* __lsan_default_options(void);

const char* __lsan_default_suppressions(void) { return "leak:libpmem2.so\n"; }

// A text at the end would be taken for a finding.
const char* __lsan_default_options(void) { return "print_suppressions=0"; }
