// Read by LeakSanitizer, in its builds only. pmem2_map_delete(3) of libpmem2 1.12.1 returns 0 and
// leaves 144 bytes of its own behind for each map of pmem2_map_from_existing(3).
const char* __lsan_default_suppressions(void);

__attribute__((visibility("default"))) const char* __lsan_default_suppressions(void) {
    return "leak:libpmem2.so\n";
}
