/* SPDX-License-Identifier: BSD-3-Clause */
// Checks that the content of the target's medium is consistent at each moment: libpmemobj must open
// it and find what the program had after a power failure at that moment. The real workload and the
// real rpmemd produce the log. A write that the daemon makes durable too late, or not at all,
// leaves an image that does not fit the steps of the program.
//
//   check_prefixes begin LOG MIB FAULT_EVERY SEED
//       Creates a log of MIB for log_medium.c. A daemon dies after FAULT_EVERY records on average,
//       or never if it is 0.
//   check_prefixes check LOG IMAGE POOL_SET COUNTS THREADS LEAVE_OUT
//       IMAGE is the initial content of the medium and the only part of POOL_SET. Each record is
//       applied to it in turn, larger ones first in part. Each time the pool is opened and compared
//       with the steps of the program. libpmemobj opens it copy-on-write, so IMAGE is not changed.
//       Every LEAVE_OUT-th record is skipped, or none if it is 0, which shows that a missing write
//       is detected. COUNTS is the file with the steps at the end.
#include "tests/clients/workload.h"
#include "tests/survive/prefixes/medium_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { cache_line = 64, use_every = 16, max_check = 8 /* seconds */ };

struct check {
    struct medium_log* log;
    unsigned char* image;
    const char* pool_set;
    unsigned threads;
    uint64_t leave_out;
    uint64_t opened; // number of successful checks
};

static void die(const char* what) {
    fprintf(stderr, "check_prefixes: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void* map_file(const char* path) {
    struct stat status;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        die(path);
    void* const memory =
        mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die(path);
    close(fd);
    return memory;
}

static int begin(char** arguments) {
    const uint64_t capacity = strtoull(arguments[1], NULL, 10) << 20;
    const int fd = open(arguments[0], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)capacity) != 0)
        die(arguments[0]);
    struct medium_log* const log = map_file(arguments[0]);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (pthread_mutex_init(&log->mutex, &attributes) != 0)
        die("pthread_mutex_init");
    log->capacity = capacity;
    log->end = sizeof(*log);
    log->fault_every = strtoull(arguments[2], NULL, 10);
    log->random = mix(strtoull(arguments[3], NULL, 10)) | 1;
    return 0;
}

// --- one pool ------------------------------------------------------------------------------------

// Recovery must free what an uncommitted transaction has allocated.
static int verify_objects(PMEMobjpool* pool, const struct root* root) {
    uint64_t expected = 0;
    for (unsigned i = 0; i < MAX_SLOTS; ++i)
        expected += slot_count_objects(root, i);
    uint64_t found = 0;
    for (PMEMoid oid = pmemobj_first(pool); !OID_IS_NULL(oid); oid = pmemobj_next(oid))
        ++found;
    if (found == expected)
        return 0;
    fprintf(stderr, "check_prefixes: %llu objects, %llu expected\n", (unsigned long long)found,
            (unsigned long long)expected);
    return 1;
}

// Makes a step of each thread, as the program would after the power failure.
static int use(PMEMobjpool* pool, struct root* root, unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
        if (step_perform(pool, root, i, 0) != 0 || slot_verify_objects(&root->slots[i], i) != 0)
            return 1;
    return 0;
}

static int check_pool(struct check* check, const uint64_t* least, const uint64_t* most) {
    alarm(max_check); // a corrupt list may be endless
    PMEMobjpool* const pool = pmemobj_open(check->pool_set, LAYOUT);
    if (pool == NULL) {
        fprintf(stderr, "check_prefixes: opening: %s\n", pmemobj_errormsg());
        return 1;
    }
    struct root* const root = pmemobj_direct(pmemobj_root(pool, sizeof(struct root)));
    int failed = root == NULL;
    for (unsigned i = 0; i < check->threads && !failed; ++i)
        failed = slot_verify_cut(root, i, least[i], most[i]);
    if (!failed)
        failed = verify_objects(pool, root);
    if (!failed && ++check->opened % use_every == 0)
        failed = use(pool, root, check->threads);
    pmemobj_close(pool);
    return failed;
}

// Each thread may have begun one more step than it has counted.
static int check_record(struct check* check, const struct record* record) {
    uint64_t most[LOGGED_THREADS];
    for (unsigned i = 0; i < LOGGED_THREADS; ++i)
        most[i] = record->after[i] + 1;
    return check_pool(check, record->before, most);
}

// --- all records ---------------------------------------------------------------------------------

// Checks the pool with some cache lines of the record durable and the others not.
static int check_part_of(struct check* check, const struct record* record, uint64_t number) {
    const unsigned char* const bytes = (const unsigned char*)(record + 1);
    unsigned char* const place = check->image + record->offset;
    unsigned char* const saved = malloc(record->size);
    if (saved == NULL)
        die("memory of a record");
    memcpy(saved, place, record->size);
    for (uint64_t at = 0, end; at < record->size; at = end) {
        end = (record->offset + at + cache_line) / cache_line * cache_line - record->offset;
        end = end < record->size ? end : record->size;
        if (mix(number * 1000003 + at) % 2 == 0)
            memcpy(place + at, bytes + at, end - at);
    }
    const int failed = check_record(check, record);
    memcpy(place, saved, record->size);
    free(saved);
    return failed;
}

// Exchanges each piece with the bytes at its place in the image.
static void swap_pieces(struct check* check, struct piece* pieces, uint64_t count) {
    unsigned char bytes[PIECE_SIZE];
    for (uint64_t i = 0; i < count; ++i) {
        unsigned char* const place = check->image + pieces[i].offset;
        memcpy(bytes, place, PIECE_SIZE);
        memcpy(place, pieces[i].bytes, PIECE_SIZE);
        memcpy(pieces[i].bytes, bytes, PIECE_SIZE);
    }
}

static int check_stored(struct check* check, struct record* record) {
    struct piece* const pieces = (struct piece*)(record + 1);
    const uint64_t count = record->size / sizeof(*pieces);
    swap_pieces(check, pieces, count);
    const int failed = check_record(check, record);
    swap_pieces(check, pieces, count);
    return failed;
}

static int put(struct check* check, struct record* record, uint64_t number) {
    if (record->kind == only_stored)
        return check_stored(check, record);
    if (check->leave_out != 0 && number % check->leave_out == 0)
        return 0;
    if (record->kind == made_durable && record->size > cache_line &&
        check_part_of(check, record, number) != 0)
        return 1;
    memcpy(check->image + record->offset, record + 1, record->size);
    return check_record(check, record);
}

static int check_all(struct check* check, const uint64_t* counts) {
    static const char* const kinds[] = {"made durable", "cut short", "only stored"};
    uint64_t number = 0;
    uint64_t of_session = 0;
    uint64_t session = 0;
    const uint64_t log_end = check->log->end;
    for (uint64_t at = sizeof(*check->log); at < log_end;) {
        struct record* const record = (struct record*)((unsigned char*)check->log + at);
        of_session = record->session == session ? of_session + 1 : 1;
        session = record->session;
        if (put(check, record, ++number) != 0) {
            fprintf(
                stderr,
                "check_prefixes: after record %llu, the %llu. of daemon %llu: %s [%llu, %llu)\n",
                (unsigned long long)number, (unsigned long long)of_session,
                (unsigned long long)session, kinds[record->kind],
                (unsigned long long)record->offset,
                (unsigned long long)(record->offset + record->size));
            return 1;
        }
        at = next_record(at, record->size);
    }
    if (check_pool(check, counts, counts) != 0)
        return 1;
    uint64_t steps = 0;
    for (unsigned i = 0; i < check->threads; ++i)
        steps += counts[i];
    printf("%llu steps, %llu daemons, %llu records; opened %llu times\n", (unsigned long long)steps,
           (unsigned long long)check->log->sessions, (unsigned long long)number,
           (unsigned long long)check->opened);
    return 0;
}

int main(int argc, char** argv) {
    if (argc == 6 && strcmp(argv[1], "begin") == 0)
        return begin(argv + 2);
    if (argc != 8 || strcmp(argv[1], "check") != 0 || atoi(argv[6]) > LOGGED_THREADS) {
        fprintf(stderr,
                "usage: check_prefixes begin LOG MIB FAULT_EVERY SEED\n"
                "       check_prefixes check LOG IMAGE POOL_SET COUNTS THREADS LEAVE_OUT\n");
        return 2;
    }
    int yes = 1;
    if (pmemobj_ctl_set(NULL, "copy_on_write.at_open", &yes) != 0) {
        fprintf(stderr, "check_prefixes: copy_on_write.at_open: %s\n", pmemobj_errormsg());
        return 1;
    }
    struct check check = {.log = map_file(argv[2]),
                          .image = map_file(argv[3]),
                          .pool_set = argv[4],
                          .threads = (unsigned)atoi(argv[6]),
                          .leave_out = strtoull(argv[7], NULL, 10)};
    return check_all(&check, map_file(argv[5]));
}
