// Persists the same range again and again while something breaks, and tells how long the longest
// call took.
//
//   slow_calls TARGET POOL_SET POOL_SIZE RANGE_SIZE TIMES DELAY [COMMAND]
//
// TIMES times COMMAND is run by sh(1), DELAY milliseconds after the calls have begun. They end a
// little after COMMAND. Without COMMAND there is one call each time. Prints all longest calls in
// microseconds, in ascending order.
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

enum { most_times = 1000, header_size = 4096, calls_behind = 10 };

struct disturbance {
    const char* command;
    unsigned delay; // in milliseconds
    atomic_int is_over;
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
    atomic_store(&disturbance->is_over, 1);
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

static uint64_t longest_call(RPMEMpool* pool, unsigned char* memory, size_t size,
                             struct disturbance* disturbance) {
    if (disturbance->command == NULL)
        return persist_once(pool, memory, size);
    pthread_t thread;
    atomic_store(&disturbance->is_over, 0);
    if (pthread_create(&thread, NULL, disturb, disturbance) != 0)
        exit(1);
    uint64_t longest = 0;
    for (int behind = 0; behind < calls_behind; behind += atomic_load(&disturbance->is_over)) {
        const uint64_t took = persist_once(pool, memory, size);
        longest = took > longest ? took : longest;
    }
    pthread_join(thread, NULL);
    return longest;
}

static int compare(const void* left, const void* right) {
    const uint64_t a = *(const uint64_t*)left;
    const uint64_t b = *(const uint64_t*)right;
    return (a > b) - (a < b);
}

int main(int argc, char** argv) {
    if (argc < 7 || argc > 8 || atoi(argv[5]) > most_times) {
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
    unsigned lanes = 1;
    const struct rpmem_pool_attr attributes = {.major = 1};
    RPMEMpool* pool = rpmem_create(argv[1], argv[2], memory, pool_size, &lanes, &attributes);
    if (pool == NULL) {
        fprintf(stderr, "slow_calls: %s\n", rpmem_errormsg());
        return 1;
    }
    persist_once(pool, memory, pool_size - header_size); // the pages are there
    uint64_t all[most_times];
    for (int i = 0; i < times; ++i)
        all[i] = longest_call(pool, memory, range_size, &disturbance);
    if (rpmem_close(pool) != 0) {
        fprintf(stderr, "slow_calls: closing: %s\n", rpmem_errormsg());
        return 1;
    }
    qsort(all, (size_t)times, sizeof(all[0]), compare);
    for (int i = 0; i < times; ++i)
        printf("%llu%c", (unsigned long long)all[i], i + 1 < times ? ' ' : '\n');
    return 0;
}
