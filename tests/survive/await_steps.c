/* SPDX-License-Identifier: BSD-3-Clause */
// await_steps COUNTS_FILE THREADS SECONDS PID: waits until each thread of the workload has made two
// more steps, because the first one may have begun before the call. The workload keeps its counts
// in COUNTS_FILE (tests/clients/workload.c). The exit status is 1 if the steps were not made within
// SECONDS, and 3 if process PID has ended. A shell loop would fork for each poll. In a script that
// runs for hours, process ids are then reused within minutes, and bash mistakes a new child for an
// old one.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, POLL_MS = 20, ENDED = 3 };

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// A file that does not exist yet or is still too short counts as no step.
static void read_counts(const char* path, uint64_t* counts, unsigned threads) {
    memset(counts, 0, threads * sizeof(*counts));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (pread(fd, counts, threads * sizeof(*counts), 0) < (ssize_t)(threads * sizeof(*counts)))
        memset(counts, 0, threads * sizeof(*counts));
    close(fd);
}

static int all_went_on(const uint64_t* before, const uint64_t* now, unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
        if (now[i] < before[i] + 2)
            return 0;
    return 1;
}

int main(int argc, char** argv) {
    const unsigned threads = argc == 5 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (threads == 0 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: await_steps COUNTS_FILE THREADS SECONDS PID\n");
        return 2;
    }
    uint64_t before[MAX_THREADS];
    uint64_t now[MAX_THREADS];
    read_counts(argv[1], before, threads);
    const uint64_t end = milliseconds() + strtoull(argv[3], NULL, 10) * 1000;
    struct pollfd program = {.fd = (int)syscall(SYS_pidfd_open, atoi(argv[4]), 0),
                             .events = POLLIN};
    if (program.fd < 0) {
        fprintf(stderr, "await_steps: process %s: %s\n", argv[4], strerror(errno));
        return ENDED;
    }
    do {
        if (poll(&program, 1, POLL_MS) > 0)
            return ENDED;
        read_counts(argv[1], now, threads);
        if (all_went_on(before, now, threads))
            return 0;
    } while (milliseconds() < end);
    return 1;
}
