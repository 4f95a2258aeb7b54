/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two halves of tools/quickstart, using nothing but the public interface:
 *
 *     rpmem_quickstart replicate TARGET POOL_SET FILE
 *         fills FILE with data, creates the pool on the target and replicates all of it
 *     rpmem_quickstart restore TARGET POOL_SET FILE
 *         creates FILE and fills it from the pool on the target
 */
#include <err.h>
#include <fcntl.h>
#include <librpmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)
#define POOL_SIZE (64 * MIB)
#define HEADER_SIZE ((size_t)4096) /* the target keeps the header of the pool itself */
#define STEP MIB
#define LANES 4

static char* map_new_file(const char* path) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        err(EXIT_FAILURE, "creating %s", path);
    int error = posix_fallocate(fd, 0, (off_t)POOL_SIZE);
    if (error != 0)
        errx(EXIT_FAILURE, "allocating %zu MiB for %s: %s", POOL_SIZE / MIB, path, strerror(error));
    char* pool = mmap(NULL, POOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (pool == MAP_FAILED)
        err(EXIT_FAILURE, "mapping %s", path);
    close(fd);
    return pool;
}

/* Every word differs, also from run to run, so that a gap or an old copy is detected. */
static void fill(char* pool) {
    uint64_t state = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15U + 1;
    for (size_t offset = HEADER_SIZE; offset < POOL_SIZE; offset += sizeof(state)) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(pool + offset, &state, sizeof(state));
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* On a terminal, updates one line. Elsewhere, prints a line for every quarter. */
static void report(const char* verb, size_t done, double started) {
    bool terminal = isatty(STDOUT_FILENO) == 1;
    bool last = done == POOL_SIZE;
    if (!terminal && done % (POOL_SIZE / 4) != 0)
        return;
    printf("%s    %s %2zu of %zu MiB", terminal ? "\r" : "", verb, done / MIB, POOL_SIZE / MIB);
    if (last)
        printf(" in %.2f s", seconds() - started);
    if (last || !terminal)
        printf("\n");
    (void)fflush(stdout);
}

static void replicate_all(RPMEMpool* rpp) {
    double started = seconds();
    for (size_t step = 0; step < POOL_SIZE; step += STEP) {
        size_t begin = step == 0 ? HEADER_SIZE : step;
        if (rpmem_persist(rpp, begin, step + STEP - begin, 0, RPMEM_PERSIST_RELAXED) != 0)
            errx(EXIT_FAILURE, "\nreplicating at offset %zu: %s", begin, rpmem_errormsg());
        report("replicated", step + STEP, started);
    }
}

static void read_all(RPMEMpool* rpp, char* pool) {
    double started = seconds();
    for (size_t step = 0; step < POOL_SIZE; step += STEP) {
        size_t begin = step == 0 ? HEADER_SIZE : step;
        if (rpmem_read(rpp, pool + begin, begin, step + STEP - begin, 0) != 0)
            errx(EXIT_FAILURE, "\nreading at offset %zu: %s", begin, rpmem_errormsg());
        report("read back", step + STEP, started);
    }
}

static RPMEMpool* create(const char* target, const char* pool_set, char* pool) {
    struct rpmem_pool_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    memcpy(attributes.signature, "QUICK", sizeof("QUICK"));
    attributes.major = 1;
    unsigned lanes = LANES;
    RPMEMpool* rpp = rpmem_create(target, pool_set, pool, POOL_SIZE, &lanes, &attributes);
    if (rpp == NULL)
        errx(EXIT_FAILURE, "creating the pool %s on %s: %s", pool_set, target, rpmem_errormsg());
    return rpp;
}

static RPMEMpool* open_existing(const char* target, const char* pool_set, char* pool) {
    struct rpmem_pool_attr attributes;
    unsigned lanes = LANES;
    RPMEMpool* rpp = rpmem_open(target, pool_set, pool, POOL_SIZE, &lanes, &attributes);
    if (rpp == NULL)
        errx(EXIT_FAILURE, "opening the pool %s on %s: %s", pool_set, target, rpmem_errormsg());
    if (memcmp(attributes.signature, "QUICK", sizeof("QUICK")) != 0)
        errx(EXIT_FAILURE, "the pool %s on %s is not the one that was created", pool_set, target);
    return rpp;
}

int main(int argc, char* argv[]) {
    if (argc != 5 || (strcmp(argv[1], "replicate") != 0 && strcmp(argv[1], "restore") != 0))
        errx(EXIT_FAILURE, "usage: %s replicate|restore TARGET POOL_SET FILE", argv[0]);
    const char* mismatch = rpmem_check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION);
    if (mismatch != NULL)
        errx(EXIT_FAILURE, "%s", mismatch);

    char* pool = map_new_file(argv[4]);
    RPMEMpool* rpp;
    if (strcmp(argv[1], "replicate") == 0) {
        fill(pool);
        rpp = create(argv[2], argv[3], pool);
        replicate_all(rpp);
    } else {
        rpp = open_existing(argv[2], argv[3], pool);
        read_all(rpp, pool);
    }
    if (rpmem_close(rpp) != 0)
        errx(EXIT_FAILURE, "closing the pool: %s", rpmem_errormsg());
    if (munmap(pool, POOL_SIZE) != 0)
        err(EXIT_FAILURE, "unmapping %s", argv[4]);
    return EXIT_SUCCESS;
}
