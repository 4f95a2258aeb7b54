/* SPDX-License-Identifier: BSD-3-Clause */
// LD_PRELOAD library for a libpmemobj program. It kills the program at a chosen call of
// rpmem_persist(), before the range is sent. libpmemobj has made the range durable in its own
// memory then, so the replica lacks it.
//   RPMEM_HELD_BACK_CALL  number of the call, from 1; 0 or more than there are: never
//   RPMEM_HELD_BACK_LOG   file for the offset and length of each call, one call per line
#include <dlfcn.h>
#include <librpmem.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*persist_replica)(RPMEMpool*, size_t, size_t, unsigned, unsigned);
static atomic_ulong calls;
static FILE* calls_log;

static int persist_or_die(RPMEMpool* pool, size_t offset, size_t length, unsigned lane,
                          unsigned flags) {
    const char* const number = getenv("RPMEM_HELD_BACK_CALL");
    const unsigned long call = atomic_fetch_add(&calls, 1) + 1;
    if (number != NULL && call == strtoul(number, NULL, 10))
        raise(SIGKILL);
    if (calls_log != NULL)
        fprintf(calls_log, "%zu %zu\n", offset, length);
    return persist_replica(pool, offset, length, lane, flags);
}

// libpmemobj looks up the functions of librpmem with dlsym().
void* dlsym(void* handle, const char* name) {
    void* (*real)(void*, const char*);
    void* const found_real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (found_real == NULL)
        abort();
    memcpy(&real, &found_real, sizeof(real));
    void* const found = real(handle, name);
    if (found == NULL || strcmp(name, "rpmem_persist") != 0)
        return found;
    memcpy(&persist_replica, &found, sizeof(found));
    const char* const log = getenv("RPMEM_HELD_BACK_LOG");
    if (log != NULL && calls_log == NULL)
        calls_log = fopen(log, "we");
    int (*const own)(RPMEMpool*, size_t, size_t, unsigned, unsigned) = persist_or_die;
    void* wrapper;
    memcpy(&wrapper, &own, sizeof(wrapper));
    return wrapper;
}
