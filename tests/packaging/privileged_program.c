/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * privileged_program LIBRARY: prints AT_SECURE, which is 1 if the process has more privileges than
 * its user. Then it calls the functions that connect to a target, and prints their errors.
 */
#include <dlfcn.h>
#include <errno.h>
#include <librpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

typedef RPMEMpool* (*create_function)(const char*, const char*, void*, size_t, unsigned*,
                                      const struct rpmem_pool_attr*);
typedef RPMEMpool* (*open_function)(const char*, const char*, void*, size_t, unsigned*,
                                    struct rpmem_pool_attr*);
typedef int (*remove_function)(const char*, const char*, int);
typedef const char* (*errormsg_function)(void);

/* ISO C has no conversion from an object pointer to a function pointer. */
#define LOOK_UP(variable, library, name)                                                           \
    do {                                                                                           \
        void* address = dlsym(library, name);                                                      \
        if (!address)                                                                              \
            return EXIT_FAILURE;                                                                   \
        memcpy(&(variable), &address, sizeof(variable));                                           \
    } while (0)

static char memory[1 << 18];
static const char* const target = "127.0.0.1";

int main(int argc, char** argv) {
    create_function create_pool;
    open_function open_pool;
    remove_function remove_pool;
    errormsg_function errormsg;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* aligned = memory + (page - (uintptr_t)memory % page) % page;
    unsigned lanes = 1;
    void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        (void)fprintf(stderr, "no library: %s\n", argc == 2 ? dlerror() : "not named");
        return EXIT_FAILURE;
    }
    LOOK_UP(create_pool, library, "rpmem_create");
    LOOK_UP(open_pool, library, "rpmem_open");
    LOOK_UP(remove_pool, library, "rpmem_remove");
    LOOK_UP(errormsg, library, "rpmem_errormsg");

    (void)printf("AT_SECURE %lu\n", getauxval(AT_SECURE));
    if (create_pool(target, "pool.set", aligned, page, &lanes, NULL) == NULL)
        (void)printf("create %s %s\n", errno == EPERM ? "EPERM" : "another", errormsg());
    if (open_pool(target, "pool.set", aligned, page, &lanes, NULL) == NULL)
        (void)printf("open %s %s\n", errno == EPERM ? "EPERM" : "another", errormsg());
    if (remove_pool(target, "pool.set", 0) != 0)
        (void)printf("remove %s %s\n", errno == EPERM ? "EPERM" : "another", errormsg());
    (void)printf("libfabric %s\n",
                 dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD) ? "loaded" : "not loaded");
    return EXIT_SUCCESS;
}
