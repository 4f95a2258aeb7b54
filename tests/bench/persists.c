/* SPDX-License-Identifier: BSD-3-Clause */
/* persists TARGET POOL_SET BYTES COUNT: creates a pool, persists BYTES of it COUNT times and
 * removes it. instructions.sh counts the instructions of the persists. */
#define _GNU_SOURCE /* syscall(2) */
#include <librpmem.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { pool_size = 8 << 20, first_offset = 4096 };

static int is_counted;

/* Replaces send() of libc in the library. It returns when the answer has arrived, so that the
 * library polls for it once. Otherwise the number of polls, and so the count, would be random. */
ssize_t send(int fd, const void* bytes, size_t size, int flags) {
    const ssize_t sent = syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    if (is_counted)
        poll(&answer, 1, 10000);
    return sent;
}

static int failed(const char* call) {
    fprintf(stderr, "%s: %s\n", call, rpmem_errormsg());
    return EXIT_FAILURE;
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: persists TARGET POOL_SET BYTES COUNT\n");
        return 2;
    }
    const size_t size = strtoul(argv[3], NULL, 10);
    const unsigned long count = strtoul(argv[4], NULL, 10);
    char* const memory = aligned_alloc(4096, pool_size);
    if (!memory)
        return EXIT_FAILURE;
    memset(memory, 1, pool_size);
    struct rpmem_pool_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    memcpy(attributes.signature, "COUNTED", 8);
    unsigned lanes = 1;
    RPMEMpool* const pool = rpmem_create(argv[1], argv[2], memory, pool_size, &lanes, &attributes);
    if (!pool)
        return failed("rpmem_create");
    is_counted = 1;
    for (unsigned long i = 0; i < count; ++i)
        if (rpmem_persist(pool, first_offset + i % 1000 * size, size, 0, 0) != 0)
            return failed("rpmem_persist");
    is_counted = 0;
    if (rpmem_close(pool) != 0)
        return failed("rpmem_close");
    if (rpmem_remove(argv[1], argv[2], 0) != 0)
        return failed("rpmem_remove");
    free(memory);
    return EXIT_SUCCESS;
}
