/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dynamic_loading LIBRARY [KEPT]: loads the library as libpmemobj does, looks up every function,
 * calls those that need no target, and unloads the library. It repeats this, also with a thread
 * that outlives the library. KEPT is loaded before and never unloaded, so that a leak check reports
 * only LIBRARY and not its dependencies. A missing symbol, or state that outlives dlclose(), makes
 * it fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <librpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const names[] = {
    "rpmem_check_version", "rpmem_close",    "rpmem_create", "rpmem_deep_persist",
    "rpmem_drain",         "rpmem_errormsg", "rpmem_flush",  "rpmem_open",
    "rpmem_persist",       "rpmem_read",     "rpmem_remove", "rpmem_set_attr",
};

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition);                \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

typedef const char* (*check_version_function)(unsigned, unsigned);
typedef const char* (*errormsg_function)(void);
typedef RPMEMpool* (*create_function)(const char*, const char*, void*, size_t, unsigned*,
                                      const struct rpmem_pool_attr*);
typedef int (*remove_function)(const char*, const char*, int);

/* ISO C has no conversion from an object pointer to a function pointer. */
#define LOOK_UP(variable, library, name)                                                           \
    do {                                                                                           \
        void* address = dlsym(library, name);                                                      \
        CHECK(address != NULL);                                                                    \
        memcpy(&(variable), &address, sizeof(variable));                                           \
    } while (0)

/* Large enough for an aligned page of up to 128 KiB. */
static char memory[1 << 18];

/* An invalid target, so that the library sets up settings and log but connects to nothing. */
static void fail_to_create(create_function create_pool, errormsg_function errormsg) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* aligned = memory + (page - (uintptr_t)memory % page) % page;
    unsigned lanes = 1;
    errno = 0;
    CHECK(create_pool("node:0", "pool.set", aligned, page, &lanes, NULL) == NULL);
    CHECK(errno == EINVAL);
    CHECK(strstr(errormsg(), "node:0") != NULL);
}

static void use(void* library) {
    check_version_function check_version;
    errormsg_function errormsg;
    create_function create_pool;
    remove_function remove_pool;
    LOOK_UP(check_version, library, "rpmem_check_version");
    LOOK_UP(errormsg, library, "rpmem_errormsg");
    LOOK_UP(create_pool, library, "rpmem_create");
    LOOK_UP(remove_pool, library, "rpmem_remove");

    CHECK(errormsg() != NULL);
    CHECK(check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION) == NULL);
    CHECK(check_version(RPMEM_MAJOR_VERSION, 0) == NULL);
    CHECK(check_version(RPMEM_MAJOR_VERSION + 1, 0) != NULL);
    CHECK(check_version(RPMEM_MAJOR_VERSION - 1, 0) != NULL);
    const char* text = check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION + 1);
    CHECK(text != NULL && strstr(text, "1.3") != NULL && strstr(text, "1.4") != NULL);
    CHECK(remove_pool("node", "pool.set", 0x100) == -1);
    CHECK(strlen(errormsg()) > 0);
    fail_to_create(create_pool, errormsg);
}

struct thread_state {
    void* handle;
    pthread_barrier_t barrier;
};

/* The thread has a thread-local error text of the library when that is unloaded, and ends later. */
static void* use_and_outlive(void* argument) {
    struct thread_state* state = argument;
    use(state->handle);
    pthread_barrier_wait(&state->barrier); /* used */
    pthread_barrier_wait(&state->barrier); /* unloaded */
    return NULL;
}

static void* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "dlopen: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return library;
}

static void round_of_thread(const char* path) {
    struct thread_state state = {.handle = load(path)};
    pthread_t thread;
    CHECK(pthread_barrier_init(&state.barrier, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, use_and_outlive, &state) == 0);
    pthread_barrier_wait(&state.barrier);
    CHECK(dlclose(state.handle) == 0);
    pthread_barrier_wait(&state.barrier);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_barrier_destroy(&state.barrier) == 0);
}

int main(int argc, char* argv[]) {
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: %s LIBRARY [KEPT]\n", argv[0]);
        return EXIT_FAILURE;
    }
    if (argc == 3)
        (void)load(argv[2]);
    for (int round = 0; round < 3; round++) {
        void* library = load(argv[1]);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            CHECK(dlsym(library, names[i]) != NULL);
        use(library);
        CHECK(dlclose(library) == 0);
        round_of_thread(argv[1]);
    }
    return EXIT_SUCCESS;
}
