/* SPDX-License-Identifier: BSD-3-Clause */
// fill_pool create|open POOL THREADS: a libpmemobj program with a typical load. Threads allocate
// and free objects of different sizes, and their transactions are larger than the logs of their
// lanes. Prints the offset of a byte of the root object, which is always allocated.
#include <errno.h>
#include <inttypes.h>
#include <libpmemobj.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { steps = 40, slots = 8, area = 15000, max_threads = 8 };

struct root {
    char data[max_threads][area];
    PMEMoid kept[max_threads][slots];
};

struct worker {
    pthread_t thread;
    PMEMobjpool* pool;
    struct root* root;
    unsigned number;
    int failed;
};

static size_t next_size(unsigned* seed) {
    const size_t number = (size_t)rand_r(seed);
    switch (number % 4) {
    case 0:
        return 1 + number % 300;
    case 1:
        return 1000 + number % 30000;
    case 2:
        return 270000 + number % 100000;
    default:
        return 1 + number % 3000;
    }
}

static void replace(struct worker* worker, PMEMoid* slot, size_t size, int fill) {
    char* const data = worker->root->data[worker->number];
    TX_BEGIN(worker->pool) {
        pmemobj_tx_add_range_direct(data, area);
        memset(data, fill, area);
        pmemobj_tx_add_range_direct(slot, sizeof(*slot));
        pmemobj_tx_free(*slot);
        *slot = pmemobj_tx_alloc(size, 1);
        memset(pmemobj_direct(*slot), fill, size);
    }
    TX_ONABORT { // a small pool may be full
        if (errno != ENOMEM)
            worker->failed = errno;
    }
    TX_END
}

static void* work(void* argument) {
    struct worker* worker = argument;
    unsigned seed = worker->number + 1;
    for (int i = 1; i <= steps; ++i) {
        PMEMoid* slot = &worker->root->kept[worker->number][(unsigned)rand_r(&seed) % slots];
        replace(worker, slot, next_size(&seed), i);
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 4)
        return 2;
    PMEMobjpool* pool = strcmp(argv[1], "create") == 0 ? pmemobj_create(argv[2], "fill", 0, 0600)
                                                       : pmemobj_open(argv[2], "fill");
    if (!pool) {
        fprintf(stderr, "%s\n", pmemobj_errormsg());
        return 1;
    }
    const PMEMoid root = pmemobj_root(pool, sizeof(struct root));
    struct worker workers[max_threads];
    const unsigned count = (unsigned)strtoul(argv[3], NULL, 10) % (max_threads + 1);
    for (unsigned i = 0; i < count; ++i) {
        workers[i] = (struct worker){.pool = pool, .root = pmemobj_direct(root), .number = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    int failed = 0;
    for (unsigned i = 0; i < count; ++i) {
        pthread_join(workers[i].thread, NULL);
        failed |= workers[i].failed;
    }
    printf("%" PRIu64 "\n", root.off + 100);
    pmemobj_close(pool);
    return failed != 0;
}
