/* SPDX-License-Identifier: BSD-3-Clause */
// LD_PRELOAD library for a libpmemobj program. libpmemobj 1.12.1 persists a range on the replica
// even where it only flushes its own memory. This library calls rpmem_flush() there instead, and
// rpmem_drain() where libpmemobj drains its own memory. Lost sessions then have flushed ranges that
// librpmem must replay. At exit it writes the number of calls to a file.
//   RPMEM_FLUSH_CLIENT_LOG  the file for the number of calls
#include <dlfcn.h>
#include <libpmem.h>
#include <librpmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*persist_replica)(RPMEMpool*, size_t, size_t, unsigned, unsigned);
static int (*flush_replica)(RPMEMpool*, size_t, size_t, unsigned, unsigned);
static int (*drain_replica)(RPMEMpool*, unsigned, unsigned);
static atomic_ulong persists, flushes, drains;

// Whether this thread's last call for its own memory flushed without a drain.
static _Thread_local int only_flushed;
// The pool and lane that this thread has flushed on the replica and not drained. One of each is
// enough, because a thread holds one lane at a time.
static _Thread_local RPMEMpool* pool_to_drain;
static _Thread_local unsigned lane_to_drain;

static void find_version(const char* name, const char* version, void* function) {
    void* const found = dlvsym(RTLD_NEXT, name, version);
    if (found == NULL)
        abort();
    memcpy(function, &found, sizeof(found));
}

static int drain(void) {
    RPMEMpool* const pool = pool_to_drain;
    pool_to_drain = NULL;
    if (pool == NULL)
        return 0;
    atomic_fetch_add(&drains, 1);
    return drain_replica(pool, lane_to_drain, 0);
}

static int persist_or_flush(RPMEMpool* pool, size_t offset, size_t length, unsigned lane,
                            unsigned flags) {
    if (pool_to_drain != NULL && lane_to_drain != lane && drain() != 0)
        return -1;
    if (!only_flushed) {
        atomic_fetch_add(&persists, 1);
        return persist_replica(pool, offset, length, lane, flags);
    }
    atomic_fetch_add(&flushes, 1);
    pool_to_drain = pool;
    lane_to_drain = lane;
    return flush_replica(pool, offset, length, lane,
                         (flags & RPMEM_PERSIST_RELAXED) != 0 ? RPMEM_FLUSH_RELAXED : 0);
}

__attribute__((destructor)) static void tell(void) {
    const char* path = getenv("RPMEM_FLUSH_CLIENT_LOG");
    FILE* file = path == NULL || persists == 0 ? NULL : fopen(path, "we");
    if (file == NULL)
        return;
    fprintf(file, "%lu persists, %lu flushes, %lu drains\n", persists, flushes, drains);
    fclose(file);
}

// libpmemobj looks up the functions of librpmem with dlsym(). This returns a wrapper instead of
// rpmem_persist().
void* dlsym(void* handle, const char* name) {
    void* (*real)(void*, const char*);
    find_version("dlsym", "GLIBC_2.34", &real);
    void* const found = real(handle, name);
    if (found == NULL || strcmp(name, "rpmem_persist") != 0)
        return found;
    void* const flush = real(handle, "rpmem_flush");
    void* const drain_found = real(handle, "rpmem_drain");
    memcpy(&persist_replica, &found, sizeof(found));
    memcpy(&flush_replica, &flush, sizeof(flush));
    memcpy(&drain_replica, &drain_found, sizeof(drain_found));
    int (*const own)(RPMEMpool*, size_t, size_t, unsigned, unsigned) = persist_or_flush;
    void* result;
    memcpy(&result, &own, sizeof(result));
    return result;
}

// --- calls for local memory ----------------------------------------------------------------------

void pmem_persist(const void* address, size_t size) {
    void (*real)(const void*, size_t);
    find_version("pmem_persist", "LIBPMEM_1.0", &real);
    real(address, size);
    only_flushed = 0;
}

int pmem_msync(const void* address, size_t size) {
    int (*real)(const void*, size_t);
    find_version("pmem_msync", "LIBPMEM_1.0", &real);
    only_flushed = 0;
    return real(address, size);
}

void pmem_flush(const void* address, size_t size) {
    void (*real)(const void*, size_t);
    find_version("pmem_flush", "LIBPMEM_1.0", &real);
    real(address, size);
    only_flushed = 1;
}

void pmem_drain(void) {
    void (*real)(void);
    find_version("pmem_drain", "LIBPMEM_1.0", &real);
    real();
    if (drain() != 0)
        abort();
}

static void note_flags(unsigned flags) {
    only_flushed = (flags & (PMEM_F_MEM_NODRAIN | PMEM_F_MEM_NOFLUSH)) != 0;
}

void* pmem_memcpy(void* destination, const void* source, size_t size, unsigned flags) {
    void* (*real)(void*, const void*, size_t, unsigned);
    find_version("pmem_memcpy", "LIBPMEM_1.0", &real);
    note_flags(flags);
    return real(destination, source, size, flags);
}

void* pmem_memmove(void* destination, const void* source, size_t size, unsigned flags) {
    void* (*real)(void*, const void*, size_t, unsigned);
    find_version("pmem_memmove", "LIBPMEM_1.0", &real);
    note_flags(flags);
    return real(destination, source, size, flags);
}

void* pmem_memset(void* destination, int value, size_t size, unsigned flags) {
    void* (*real)(void*, int, size_t, unsigned);
    find_version("pmem_memset", "LIBPMEM_1.0", &real);
    note_flags(flags);
    return real(destination, value, size, flags);
}
