/* SPDX-License-Identifier: BSD-3-Clause */
// Persists the same range repeatedly while a fault happens, and measures the longest call.
// tests/survive/numbers.sh runs it.
//
//   slow_calls TARGET POOL_SET POOL_SIZE RANGE_SIZE TIMES DELAY [COMMAND]
//
// sh(1) runs COMMAND TIMES times, each DELAY milliseconds after the calls have begun. The calls
// continue for 200 ms after COMMAND has ended. Without COMMAND, each measurement is the first call
// of a new session. The output has two lines with a value for each time, in microseconds and in
// ascending order: the longest call, and the time from the end of COMMAND to the end of the call
// that was in progress then (0 without COMMAND).
#include <librpmem.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { max_times = 1000, header_size = 4096, time_behind = 200000 };

struct disturbance {
    const char* command;
    unsigned delay;     // in milliseconds
    atomic_ullong over; // when COMMAND ended, in microseconds; 0 while it has not
};

static uint64_t microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void* disturb(void* argument) {
    struct disturbance* disturbance = argument;
    usleep(disturbance->delay * 1000);
    if (system(disturbance->command) != 0) {
        fprintf(stderr, "slow_calls: failed: %s\n", disturbance->command);
        exit(1);
    }
    atomic_store(&disturbance->over, microseconds());
    return NULL;
}

static uint64_t persist_once(RPMEMpool* pool, unsigned char* memory, size_t size) {
    ++memory[header_size];
    const uint64_t began = microseconds();
    if (rpmem_persist(pool, header_size, size, 0, 0) != 0) {
        fprintf(stderr, "slow_calls: %s\n", rpmem_errormsg());
        exit(1);
    }
    return microseconds() - began;
}

struct times {
    uint64_t longest;
    uint64_t rest;
};

static struct times disturbed(RPMEMpool* pool, unsigned char* memory, size_t size,
                              struct disturbance* disturbance) {
    pthread_t thread;
    atomic_store(&disturbance->over, 0);
    if (pthread_create(&thread, NULL, disturb, disturbance) != 0)
        exit(1);
    struct times times = {0, 0};
    uint64_t over = 0;
    while (over == 0 || microseconds() - over < time_behind) {
        const uint64_t took = persist_once(pool, memory, size);
        times.longest = took > times.longest ? took : times.longest;
        if (over != 0)
            continue;
        over = atomic_load(&disturbance->over);
        times.rest = microseconds() - over;
    }
    pthread_join(thread, NULL);
    return times;
}

static int compare(const void* left, const void* right) {
    const uint64_t a = *(const uint64_t*)left;
    const uint64_t b = *(const uint64_t*)right;
    return (a > b) - (a < b);
}

static void print_sorted(uint64_t* all, int times) {
    qsort(all, (size_t)times, sizeof(all[0]), compare);
    for (int i = 0; i < times; ++i)
        printf("%llu%c", (unsigned long long)all[i], i + 1 < times ? ' ' : '\n');
}

static RPMEMpool* begin_session(char** argv, void* memory, size_t size, int create) {
    unsigned lanes = 1;
    const struct rpmem_pool_attr attributes = {.major = 1};
    RPMEMpool* pool = create ? rpmem_create(argv[1], argv[2], memory, size, &lanes, &attributes)
                             : rpmem_open(argv[1], argv[2], memory, size, &lanes, NULL);
    if (pool == NULL) {
        fprintf(stderr, "slow_calls: %s\n", rpmem_errormsg());
        exit(1);
    }
    return pool;
}

static void end_session(RPMEMpool* pool) {
    if (rpmem_close(pool) != 0) {
        fprintf(stderr, "slow_calls: closing: %s\n", rpmem_errormsg());
        exit(1);
    }
}

int main(int argc, char** argv) {
    if (argc < 7 || argc > 8 || atoi(argv[5]) > max_times) {
        fprintf(stderr,
                "usage: slow_calls TARGET POOL_SET POOL_SIZE RANGE_SIZE TIMES DELAY [COMMAND]\n");
        return 2;
    }
    const size_t pool_size = strtoull(argv[3], NULL, 10);
    const size_t range_size = strtoull(argv[4], NULL, 10);
    const int times = atoi(argv[5]);
    struct disturbance disturbance = {.command = argc > 7 ? argv[7] : NULL,
                                      .delay = (unsigned)strtoul(argv[6], NULL, 10)};
    unsigned char* memory =
        mmap(NULL, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, pool_size);
    RPMEMpool* pool = begin_session(argv, memory, pool_size, 1);
    persist_once(pool, memory, pool_size - header_size); // allocates the pages of the file
    uint64_t longest[max_times];
    uint64_t rest[max_times];
    for (int i = 0; i < times; ++i) {
        struct times seen = {0, 0};
        if (disturbance.command != NULL) {
            seen = disturbed(pool, memory, range_size, &disturbance);
        } else {
            end_session(pool);
            pool = begin_session(argv, memory, pool_size, 0);
            seen.longest = persist_once(pool, memory, range_size);
        }
        longest[i] = seen.longest;
        rest[i] = seen.rest;
    }
    end_session(pool);
    print_sorted(longest, times);
    print_sorted(rest, times);
    return 0;
}
