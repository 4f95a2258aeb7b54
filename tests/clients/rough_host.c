/* SPDX-License-Identifier: BSD-3-Clause */
// A libpmemobj program that puts librpmem under the conditions that a host may impose: small
// stacks, a file size limit, cancelled threads and fork(2) during a reconnect. Except for SIGCHLD,
// which is ignored, its signal dispositions are the default ones. A signal such as SIGPIPE or
// SIGXFSZ that the library causes therefore ends the program and fails the test.
//
//   rough_host POOL DIRECTORY
//
// DIRECTORY contains `daemon`, the process id of rpmemd, and the FIFOs `reached` and `gate`. A
// daemon that starts while the file `gated` exists writes to `reached` and waits for `gate`. The
// program ends itself with SIGKILL while its child lives, whose process id is in `child`.
#include <errno.h>
#include <fcntl.h>
#include <libpmemobj.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "rpmem_workload"
#define SMALL_STACK (96 << 10)
#define SIZE_LIMIT (64 << 10) // the log file already has this size
#define CANCELLATIONS 100
#define SLOTS 4

struct slot {
    uint64_t values[512];
};

struct root {
    struct slot slots[SLOTS];
};

struct worker {
    PMEMobjpool* pool;
    struct slot* slot;
    uint64_t rounds; // 0 means until it is cancelled
    atomic_ulong done;
};

static const char* directory;

static void require(int good, const char* what) {
    if (good)
        return;
    fprintf(stderr, "rough_host: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const char* path_of(const char* name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void* write_values(void* argument) {
    struct worker* const worker = argument;
    for (uint64_t round = 0; worker->rounds == 0 || round < worker->rounds; ++round) {
        uint64_t* const value = &worker->slot->values[round % 512];
        *value = round;
        pmemobj_persist(worker->pool, value, sizeof(*value));
        atomic_fetch_add(&worker->done, 1);
        pthread_testcancel();
    }
    return NULL;
}

// A separate function, because setjmp(3) in TX_BEGIN does not preserve changed local variables.
static void run_transaction(PMEMobjpool* pool, struct slot* slot, int byte) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(slot, sizeof(*slot));
        memset(slot, byte, sizeof(*slot));
    }
    TX_END
}

static void* run_transactions(void* argument) {
    struct worker* const worker = argument;
    for (uint64_t round = 0; round < worker->rounds; ++round)
        run_transaction(worker->pool, worker->slot, (int)round);
    return NULL;
}

static pthread_t start(void* (*body)(void*), struct worker* worker, size_t stack) {
    pthread_t thread;
    pthread_attr_t attributes;
    require(pthread_attr_init(&attributes) == 0, "pthread_attr_init");
    if (stack > 0)
        require(pthread_attr_setstacksize(&attributes, stack) == 0, "pthread_attr_setstacksize");
    require(pthread_create(&thread, &attributes, body, worker) == 0, "pthread_create");
    pthread_attr_destroy(&attributes);
    return thread;
}

static void use_small_stacks(PMEMobjpool* pool, struct root* root) {
    struct worker workers[SLOTS];
    pthread_t threads[SLOTS];
    for (int i = 0; i < SLOTS; ++i) {
        workers[i] = (struct worker){.pool = pool, .slot = &root->slots[i], .rounds = 50};
        threads[i] = start(i % 2 ? write_values : run_transactions, &workers[i], SMALL_STACK);
    }
    for (int i = 0; i < SLOTS; ++i)
        require(pthread_join(threads[i], NULL) == 0, "join");
}

// The number of persists before each request varies, so that the requests interrupt different
// calls.
static void cancel_threads(PMEMobjpool* pool, struct root* root) {
    for (unsigned long i = 0; i < CANCELLATIONS; ++i) {
        struct worker worker = {.pool = pool, .slot = &root->slots[0]};
        const pthread_t thread = start(write_values, &worker, 0);
        while (atomic_load(&worker.done) < i % 10)
            ;
        require(pthread_cancel(thread) == 0, "cancel");
        void* result = NULL;
        require(pthread_join(thread, &result) == 0, "join");
        require(result == PTHREAD_CANCELED, "the thread was not cancelled");
    }
}

static void kill_daemon(void) {
    FILE* const file = fopen(path_of("daemon"), "re");
    int daemon = 0;
    require(file != NULL && fscanf(file, "%d", &daemon) == 1 && daemon > 1, "daemon");
    fclose(file);
    require(kill(daemon, SIGKILL) == 0, "kill the daemon");
}

// Forks while another thread waits for its next session. The child outlives its parent.
static void fork_while_reconnecting(PMEMobjpool* pool, struct root* root) {
    require(close(open(path_of("gated"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0, "gated");
    kill_daemon();
    struct worker worker = {.pool = pool, .slot = &root->slots[1], .rounds = 1000};
    const pthread_t thread = start(write_values, &worker, 0);
    char byte;
    const int reached = open(path_of("reached"), O_RDONLY | O_CLOEXEC);
    require(reached >= 0 && read(reached, &byte, 1) == 1, "reached");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        for (;;)
            pause();
    }
    FILE* const file = fopen(path_of("child"), "we");
    require(file != NULL && fprintf(file, "%d\n", child) > 0 && fclose(file) == 0, "child");
    require(unlink(path_of("gated")) == 0, "unlink");
    const int gate = open(path_of("gate"), O_WRONLY | O_CLOEXEC);
    require(gate >= 0 && write(gate, "!", 1) == 1, "gate");
    require(pthread_join(thread, NULL) == 0, "join");
}

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    directory = argv[2];
    for (int number = 1; number < NSIG; ++number)
        if (number != SIGKILL && number != SIGSTOP)
            signal(number, SIG_DFL);
    signal(SIGCHLD, SIG_IGN);
    const struct rlimit limit = {SIZE_LIMIT, RLIM_INFINITY};
    require(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    PMEMobjpool* const pool = pmemobj_open(argv[1], LAYOUT);
    require(pool != NULL, pmemobj_errormsg());
    struct root* const root = pmemobj_direct(pmemobj_root(pool, sizeof(struct root)));
    use_small_stacks(pool, root);
    cancel_threads(pool, root);
    fork_while_reconnecting(pool, root);
    raise(SIGKILL);
    return 1;
}
