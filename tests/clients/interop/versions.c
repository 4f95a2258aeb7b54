/* SPDX-License-Identifier: BSD-3-Clause */
// A program of librpmem that uses only what librpmem 1.12.1 has. It loads the library from a path,
// so that one program runs with each version.
//
//   versions LIBRARY create|open TARGET SET FILE SEED [wait]
//
// The pool's memory is a shared mapping of FILE. The program writes a pattern of SEED to the first
// range, persists it, and compares what it reads back. With `wait` it prints "ready", waits for a
// line on stdin, and persists the second range in the same way. It prints each result: "CALL: 0",
// or "CALL: ERRNO TEXT". The exit status is 0 if the pool was opened.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <librpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { first_at = 4096, second_at = 1048576, range = 65536, lanes_wanted = 2 };

struct library {
    RPMEMpool* (*create)(const char*, const char*, void*, size_t, unsigned*,
                         const struct rpmem_pool_attr*);
    RPMEMpool* (*open)(const char*, const char*, void*, size_t, unsigned*, struct rpmem_pool_attr*);
    int (*persist)(RPMEMpool*, size_t, size_t, unsigned, unsigned);
    int (*read)(RPMEMpool*, void*, size_t, size_t, unsigned);
    int (*close)(RPMEMpool*);
    const char* (*errormsg)(void);
};

static void die(const char* what, const char* why) {
    fprintf(stderr, "versions: %s: %s\n", what, why);
    exit(1);
}

static void* symbol(void* from, const char* name) {
    void* const found = dlsym(from, name);
    if (found == NULL)
        die(name, dlerror());
    return found;
}

static struct library load(const char* path) {
    void* const from = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (from == NULL)
        die(path, dlerror());
    struct library library;
    *(void**)&library.create = symbol(from, "rpmem_create");
    *(void**)&library.open = symbol(from, "rpmem_open");
    *(void**)&library.persist = symbol(from, "rpmem_persist");
    *(void**)&library.read = symbol(from, "rpmem_read");
    *(void**)&library.close = symbol(from, "rpmem_close");
    *(void**)&library.errormsg = symbol(from, "rpmem_errormsg");
    return library;
}

static void report(const struct library* library, const char* call, int result) {
    const int code = errno;
    if (result == 0)
        printf("%s: 0\n", call);
    else
        printf("%s: %d %s\n", call, code, library->errormsg());
    fflush(stdout);
}

static unsigned char* map(const char* path, size_t* size) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        die(path, strerror(errno));
    *size = (size_t)status.st_size;
    void* const memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die(path, strerror(errno));
    close(fd);
    return memory;
}

static void write_range(const struct library* library, RPMEMpool* pool, unsigned char* memory,
                        size_t at, unsigned seed) {
    static unsigned char found[range];
    for (size_t i = 0; i < range; ++i)
        memory[at + i] = (unsigned char)(seed + i * 31 + i / 256);
    report(library, "persist", library->persist(pool, at, range, 0, 0));
    memset(found, 0, sizeof(found));
    const int result = library->read(pool, found, at, range, 1);
    report(library, "read", result);
    if (result == 0)
        printf("bytes: %s\n", memcmp(found, memory + at, range) == 0 ? "equal" : "different");
    fflush(stdout);
}

static struct rpmem_pool_attr attributes(void) {
    struct rpmem_pool_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    memcpy(attributes.signature, "VERSIONS", sizeof(attributes.signature));
    attributes.major = 1;
    memset(attributes.poolset_uuid, 0x11, sizeof(attributes.poolset_uuid));
    memset(attributes.uuid, 0x22, sizeof(attributes.uuid));
    memset(attributes.next_uuid, 0x33, sizeof(attributes.next_uuid));
    memset(attributes.prev_uuid, 0x44, sizeof(attributes.prev_uuid));
    return attributes;
}

int main(int argc, char** argv) {
    if (argc < 7)
        die("usage", "versions LIBRARY create|open TARGET SET FILE SEED [wait]");
    const struct library library = load(argv[1]);
    const struct rpmem_pool_attr wanted = attributes();
    size_t size = 0;
    unsigned char* const memory = map(argv[5], &size);
    const unsigned seed = (unsigned)atoi(argv[6]);
    unsigned lanes = lanes_wanted;
    RPMEMpool* const pool = strcmp(argv[2], "create") == 0
                                ? library.create(argv[3], argv[4], memory, size, &lanes, &wanted)
                                : library.open(argv[3], argv[4], memory, size, &lanes, NULL);
    report(&library, argv[2], pool == NULL ? -1 : 0);
    if (pool == NULL)
        return 1;
    write_range(&library, pool, memory, first_at, seed);
    if (argc > 7) {
        printf("ready\n");
        fflush(stdout);
        if (getchar() == EOF)
            die("stdin", "it has ended");
        write_range(&library, pool, memory, second_at, seed);
    }
    report(&library, "close", library.close(pool));
    return 0;
}
