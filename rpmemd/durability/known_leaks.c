/* SPDX-License-Identifier: BSD-3-Clause */
// Options for LeakSanitizer, linked only into its builds. pmem2_map_delete(3) of libpmem2 1.12.1
// leaks 144 bytes for each map of pmem2_map_from_existing(3).
// The functions are weak, because a simulation links this file twice: with its objects and with its
// program.
#define SEEN_BY_THE_RUNTIME __attribute__((visibility("default"), weak))

SEEN_BY_THE_RUNTIME const char* __lsan_default_suppressions(void);
SEEN_BY_THE_RUNTIME const char* __lsan_default_options(void);

const char* __lsan_default_suppressions(void) { return "leak:libpmem2.so\n"; }

// A list of suppressions at the end of the output would look like an error.
const char* __lsan_default_options(void) { return "print_suppressions=0"; }
