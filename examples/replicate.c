/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replicates a pool of 32 MiB to another node.
 *
 *     replicate TARGET POOL_SET
 *
 * POOL_SET is a pool set file on the target, in the home directory of the user who logs in there
 * (or wherever rpmemd's poolset-dir points), for example:
 *
 *     PMEMPOOLSET
 *     32M /mnt/pmem0/example.part0
 */
#include <err.h>
#include <librpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_SIZE ((size_t)32 * 1024 * 1024)
#define HEADER_SIZE ((size_t)4096) /* belongs to the pool's header, not to us */
#define LANES 4
#define TEXT "kept on two machines"

static RPMEMpool* create_pool(const char* target, const char* pool_set, char* pool) {
    struct rpmem_pool_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    memcpy(attributes.signature, "EXAMPLE", sizeof(attributes.signature));
    attributes.major = 1;

    unsigned lanes = LANES;
    RPMEMpool* rpp = rpmem_create(target, pool_set, pool, POOL_SIZE, &lanes, &attributes);
    if (rpp == NULL)
        errx(EXIT_FAILURE, "creating %s on %s: %s", pool_set, target, rpmem_errormsg());
    printf("%s on %s: created, %u lanes\n", pool_set, target, lanes);
    return rpp;
}

static void persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned flags) {
    if (rpmem_persist(rpp, offset, length, 0, flags) != 0)
        errx(EXIT_FAILURE, "persisting %zu bytes at %zu: %s", length, offset, rpmem_errormsg());
}

int main(int argc, char* argv[]) {
    if (argc != 3)
        errx(EXIT_FAILURE, "usage: %s TARGET POOL_SET", argv[0]);
    const char* mismatch = rpmem_check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION);
    if (mismatch != NULL)
        errx(EXIT_FAILURE, "%s", mismatch);

    char* pool = mmap(NULL, POOL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED)
        err(EXIT_FAILURE, "mmap of %zu bytes", POOL_SIZE);

    RPMEMpool* rpp = create_pool(argv[1], argv[2], pool);

    /* All of the pool at once. Nobody reads it before it is complete: relaxed is enough. */
    memset(pool + HEADER_SIZE, 0x2a, POOL_SIZE - HEADER_SIZE);
    persist(rpp, HEADER_SIZE, POOL_SIZE - HEADER_SIZE, RPMEM_PERSIST_RELAXED);

    /* A small change in place: aligned words are old or new after a crash, never half of each. */
    memcpy(pool + HEADER_SIZE, TEXT, sizeof(TEXT));
    persist(rpp, HEADER_SIZE, sizeof(TEXT), 0);

    if (rpmem_close(rpp) != 0)
        errx(EXIT_FAILURE, "closing: %s", rpmem_errormsg());
    munmap(pool, POOL_SIZE);
    printf("%zu bytes are durable on %s\n", POOL_SIZE - HEADER_SIZE, argv[1]);
    return EXIT_SUCCESS;
}
