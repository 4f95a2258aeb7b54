/* SPDX-License-Identifier: BSD-3-Clause */
// A libpmemobj program with deterministic content. Each step of a thread is a transaction that
// depends only on the numbers of thread and step. `verify` replays the steps in memory and compares
// the pool with the result, so it fails if a write was lost or changed.
//
//   workload run POOL --threads N --steps N      make N more steps with each of N threads
//   workload crash POOL --threads 1 --steps N    the same, but kill it in the last transaction
//   workload verify POOL --threads N --steps N   compare, after N steps of each thread in total
//   workload extents POOL --threads N --extents FILE  only write the file of extents
//   workload count POOL --threads N              print the number of steps of each thread; fail if
//                                                its stack, table and values do not belong to it
//   --until FILE       (run) instead of --steps: run until FILE exists
//   --pause FILE       (run) all threads wait between two steps while FILE exists. When all wait,
//                      the file of --extents is written, unless it exists
//   --counts FILE      (run) file for the number of steps of each thread, 64 bits each, updated by
//                      each step; (verify) replaces --threads and --steps
//   --librpmem DIR     fail unless librpmem was loaded from DIR
//   --extents FILE     (run, verify, extents) file for offset and size of all live objects, one per
//                      line; run writes it at the end, like `count`, or with --pause in pauses
#include "tests/clients/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct options {
    const char* mode;
    const char* pool;
    const char* librpmem;
    unsigned threads;
    uint64_t steps;
    const char* extents;
    const char* until;
    const char* pause;
    const char* counts_file;
    uint64_t* counts; // mapped from counts_file
};

struct worker {
    pthread_t thread;
    PMEMobjpool* pool;
    struct root* root;
    unsigned number;
    uint64_t steps;
    const char* until; // replaces steps if not null
    const char* pause; // null: never
    atomic_int waits;  // between two steps, while the file `pause` exists
    atomic_int ended;
    uint64_t* count;  // receives the number of steps if not null
    uint64_t longest; // duration of the longest step, in milliseconds
    int crash;
    int failed;
};

static void usage(void) {
    fprintf(stderr, "usage: workload run|crash|verify|extents|count POOL --threads N --steps N"
                    " [--librpmem DIR] [--extents FILE]\n");
    exit(2);
}

static struct options parse(int argc, char** argv) {
    static const struct option known[] = {
        {"threads", required_argument, NULL, 't'},  {"steps", required_argument, NULL, 's'},
        {"librpmem", required_argument, NULL, 'l'}, {"extents", required_argument, NULL, 'e'},
        {"until", required_argument, NULL, 'u'},    {"pause", required_argument, NULL, 'p'},
        {"counts", required_argument, NULL, 'c'},   {NULL, 0, NULL, 0}};
    struct options options = {.threads = 1};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 't')
            options.threads = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 's')
            options.steps = strtoull(optarg, NULL, 10);
        else if (option == 'l')
            options.librpmem = optarg;
        else if (option == 'e')
            options.extents = optarg;
        else if (option == 'u')
            options.until = optarg;
        else if (option == 'p')
            options.pause = optarg;
        else if (option == 'c')
            options.counts_file = optarg;
        else
            usage();
    }
    if (argc - optind != 2 || options.threads == 0 || options.threads > MAX_SLOTS)
        usage();
    options.mode = argv[optind];
    options.pool = argv[optind + 1];
    return options;
}

// libpmemobj loads librpmem at run time, from wherever the loader finds it.
static int loaded_from(const char* directory) {
    char wanted[PATH_MAX];
    if (realpath(directory, wanted) == NULL) {
        fprintf(stderr, "workload: %s: %s\n", directory, strerror(errno));
        return 0;
    }
    FILE* maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return 0;
    char line[PATH_MAX + 128];
    int found = 0;
    while (!found && fgets(line, sizeof(line), maps) != NULL) {
        const char* path = strchr(line, '/');
        if (path == NULL || strstr(path, "/librpmem.so") == NULL)
            continue;
        found = strncmp(path, wanted, strlen(wanted)) == 0;
        if (!found)
            fprintf(stderr, "workload: librpmem was loaded from %s", path);
    }
    fclose(maps);
    if (!found)
        fprintf(stderr, "workload: librpmem was not loaded from %s\n", wanted);
    return found;
}

static uint64_t* map_counts(const char* path) {
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const size_t size = MAX_SLOTS * sizeof(uint64_t);
    void* counts = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED) {
        fprintf(stderr, "workload: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    close(fd);
    return counts;
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int goes_on(const struct worker* worker, uint64_t done) {
    if (worker->until != NULL)
        return access(worker->until, F_OK) != 0;
    return done < worker->steps;
}

static int exists(const char* path) { return path != NULL && access(path, F_OK) == 0; }

static void sleep_10_ms(void) {
    const struct timespec time = {.tv_nsec = 10 * 1000 * 1000};
    nanosleep(&time, NULL);
}

// The end has priority over a pause.
static void wait_in_pause(struct worker* worker) {
    while (exists(worker->pause) && !exists(worker->until)) {
        atomic_store(&worker->waits, 1);
        sleep_10_ms();
    }
    atomic_store(&worker->waits, 0);
}

static void note_step(struct worker* worker, uint64_t began) {
    const uint64_t took = milliseconds() - began;
    if (took > worker->longest)
        worker->longest = took;
    if (worker->count != NULL)
        *worker->count = worker->root->slots[worker->number].steps;
}

static void* work(void* argument) {
    struct worker* worker = argument;
    if (goes_on(worker, 0) && step_finish(worker->pool, worker->root, worker->number) != 0) {
        fprintf(stderr, "workload: thread %u, last step: %s\n", worker->number, pmemobj_errormsg());
        worker->failed = 1;
    }
    for (uint64_t i = 0; goes_on(worker, i) && !worker->failed; ++i) {
        const int crash = worker->crash && i + 1 == worker->steps;
        const uint64_t began = milliseconds();
        if (step_perform(worker->pool, worker->root, worker->number, crash) != 0) {
            fprintf(stderr, "workload: thread %u, step %llu: %s\n", worker->number,
                    (unsigned long long)worker->root->slots[worker->number].steps,
                    pmemobj_errormsg());
            worker->failed = 1;
        }
        note_step(worker, began);
        wait_in_pause(worker);
    }
    atomic_store(&worker->ended, 1);
    return NULL;
}

static int write_extents(struct root* root, const struct options* options) {
    char path[PATH_MAX]; // renamed, so that nobody reads half of it
    snprintf(path, sizeof(path), "%s.new", options->extents);
    FILE* file = fopen(path, "we");
    if (file == NULL) {
        fprintf(stderr, "workload: %s: %s\n", path, strerror(errno));
        return 1;
    }
    fprintf(file, "%llu %zu\n", (unsigned long long)pmemobj_oid(root).off, sizeof(root->slots));
    for (unsigned i = 0; i < options->threads; ++i)
        slot_print_extents(root, i, file);
    return fclose(file) != 0 || rename(path, options->extents) != 0;
}

static unsigned count_waiting(struct worker* workers, unsigned threads) {
    unsigned waiting = 0;
    for (unsigned i = 0; i < threads; ++i)
        waiting += (unsigned)atomic_load(&workers[i].waits);
    return waiting;
}

static int has_ended(struct worker* workers, unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
        if (!atomic_load(&workers[i].ended))
            return 0;
    return 1;
}

// Writes the extents in each pause for which somebody has removed the file of the pause before.
static int watch_pauses(struct worker* workers, struct root* root, const struct options* options) {
    while (options->pause != NULL && !has_ended(workers, options->threads)) {
        if (options->extents != NULL && !exists(options->extents) && exists(options->pause) &&
            count_waiting(workers, options->threads) == options->threads &&
            write_extents(root, options) != 0)
            return 1;
        sleep_10_ms();
    }
    return 0;
}

static int count(const struct root* root, const struct options* options) {
    int failed = 0;
    for (unsigned i = 0; i < options->threads; ++i) {
        failed |= slot_verify_objects(&root->slots[i], i);
        printf("thread %u: %llu steps\n", i, (unsigned long long)root->slots[i].steps);
    }
    return failed;
}

static int run(PMEMobjpool* pool, struct root* root, const struct options* options, int crash) {
    struct worker workers[MAX_SLOTS];
    memset(workers, 0, sizeof(workers));
    for (unsigned i = 0; i < options->threads; ++i) {
        struct worker* worker = &workers[i];
        worker->pool = pool;
        worker->root = root;
        worker->number = i;
        worker->steps = options->steps;
        worker->until = options->until;
        worker->pause = options->pause;
        worker->count = options->counts == NULL ? NULL : &options->counts[i];
        worker->crash = crash;
        const int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error != 0) {
            fprintf(stderr, "workload: starting thread %u: %s\n", i, strerror(error));
            exit(1);
        }
    }
    int failed = watch_pauses(workers, root, options);
    uint64_t longest = 0;
    for (unsigned i = 0; i < options->threads; ++i) {
        pthread_join(workers[i].thread, NULL);
        failed |= workers[i].failed;
        longest = workers[i].longest > longest ? workers[i].longest : longest;
    }
    if (options->until != NULL)
        printf("the longest step took %llu ms\n", (unsigned long long)longest);
    if (!failed && options->extents != NULL && options->pause == NULL)
        failed = write_extents(root, options) != 0 || count(root, options) != 0;
    return failed;
}

static int verify(struct root* root, const struct options* options) {
    int failed = 0;
    uint64_t all = 0;
    for (unsigned i = 0; i < MAX_SLOTS; ++i) {
        const uint64_t given = i < options->threads ? options->steps : 0;
        const uint64_t expected = options->counts != NULL ? options->counts[i] : given;
        all += expected;
        if (slot_verify(root, i, expected) != 0)
            failed = 1;
    }
    if (!failed && options->extents != NULL)
        failed = write_extents(root, options);
    if (!failed)
        printf("verified %llu steps\n", (unsigned long long)all);
    return failed;
}

static int act(PMEMobjpool* pool, const struct options* options) {
    const PMEMoid oid = pmemobj_root(pool, sizeof(struct root));
    if (OID_IS_NULL(oid)) {
        fprintf(stderr, "workload: root object: %s\n", pmemobj_errormsg());
        return 1;
    }
    struct root* root = pmemobj_direct(oid);
    if (options->librpmem != NULL && !loaded_from(options->librpmem))
        return 1;
    if (strcmp(options->mode, "run") == 0)
        return run(pool, root, options, 0);
    if (strcmp(options->mode, "crash") == 0)
        return run(pool, root, options, 1);
    if (strcmp(options->mode, "extents") == 0)
        return write_extents(root, options);
    if (strcmp(options->mode, "count") == 0)
        return count(root, options);
    return verify(root, options);
}

int main(int argc, char** argv) {
    struct options options = parse(argc, argv);
    if (strcmp(options.mode, "run") != 0 && strcmp(options.mode, "crash") != 0 &&
        strcmp(options.mode, "verify") != 0 && strcmp(options.mode, "extents") != 0 &&
        strcmp(options.mode, "count") != 0)
        usage();
    if (strcmp(options.mode, "extents") == 0 && options.extents == NULL)
        usage();
    if (options.counts_file != NULL)
        options.counts = map_counts(options.counts_file);
    PMEMobjpool* pool = pmemobj_open(options.pool, LAYOUT);
    if (pool == NULL) {
        fprintf(stderr, "workload: opening %s: %s\n", options.pool, pmemobj_errormsg());
        return 1;
    }
    const int status = act(pool, &options);
    pmemobj_close(pool);
    return status;
}
