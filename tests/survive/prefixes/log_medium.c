/* SPDX-License-Identifier: BSD-3-Clause */
// LD_PRELOAD library for rpmemd. It logs each range that becomes durable, and ends the daemon at
// random places: before a range is durable, when it is durable in part, or before it is
// acknowledged. Files are opened before the daemon is confined. Afterwards it only writes to mapped
// memory, which the confinement allows.
//   RPMEM_MEDIUM_LOG      the log, created by `check_prefixes begin`
//   RPMEM_MEDIUM_PART     the part, the only one of the pool
//   RPMEM_MEDIUM_DURABLE  a file of the same size with the durable content of the part
//   RPMEM_MEDIUM_COUNTS   steps of the program's threads, written by `workload --counts`
#include "tests/survive/prefixes/medium_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct medium_log* log;
    unsigned char* durable;
    size_t size; // of the part
    const volatile uint64_t* counts;
    const unsigned char* part; // where the daemon has mapped it; null until then
    uint64_t session;
} state;

static void* map_file(const char* variable, size_t* size) {
    const char* path = getenv(variable);
    struct stat status;
    const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void* memory = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        *size = (size_t)status.st_size;
        memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (memory == MAP_FAILED) {
        fprintf(stderr, "log_medium: %s=%s: %s\n", variable, path ? path : "", strerror(errno));
        abort();
    }
    close(fd);
    return memory;
}

// FUNCTION points to a function pointer. ISO C has no conversion from void* to that.
static void find_next(const char* name, void* function) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        abort();
    memcpy(function, &found, sizeof(found));
}

static void lock(void) {
    if (pthread_mutex_lock(&state.log->mutex) == EOWNERDEAD)
        pthread_mutex_consistent(&state.log->mutex);
}

static void unlock(void) { pthread_mutex_unlock(&state.log->mutex); }

static uint64_t random_below(uint64_t limit) {
    uint64_t* const random = &state.log->random; // xorshift
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % limit;
}

// A third of the daemons die within 8 records, while ranges of the lost session are replayed.
static void plan_fault(void) {
    const uint64_t mean = state.log->fault_every;
    state.log->records_left =
        random_below(3) == 0 ? 1 + random_below(8) : 1 + random_below(2 * mean);
}

static void begin_session(void) {
    size_t size;
    state.log = map_file("RPMEM_MEDIUM_LOG", &size);
    state.durable = map_file("RPMEM_MEDIUM_DURABLE", &state.size);
    state.counts = map_file("RPMEM_MEDIUM_COUNTS", &size);
    lock();
    state.session = ++state.log->sessions;
    if (state.log->fault_every > 0)
        plan_fault();
    unlock();
}

static int is_part(int fd) {
    struct stat mapped;
    struct stat part;
    const char* path = getenv("RPMEM_MEDIUM_PART");
    return fd >= 0 && path != NULL && stat(path, &part) == 0 && fstat(fd, &mapped) == 0 &&
           mapped.st_dev == part.st_dev && mapped.st_ino == part.st_ino;
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
    void* (*real)(void*, size_t, int, int, int, off_t);
    find_next("mmap", &real);
    void* const mapped = real(address, size, protection, flags, fd, offset);
    if (mapped != MAP_FAILED && (flags & MAP_FIXED) != 0 && state.part == NULL && is_part(fd)) {
        begin_session(); // calls this function again, for other files
        state.part = (unsigned char*)mapped - offset;
    }
    return mapped;
}

// --- records -------------------------------------------------------------------------------------

static unsigned char* bytes_of(struct record* record) { return (unsigned char*)(record + 1); }

static struct record* begin_record(enum kind kind, uint64_t offset, uint64_t size,
                                   const uint64_t* before) {
    const uint64_t end = atomic_load(&state.log->end);
    if (next_record(end, size) > state.log->capacity) {
        fprintf(stderr, "log_medium: the log is full\n");
        abort();
    }
    struct record* const record = (struct record*)((unsigned char*)state.log + end);
    record->kind = kind;
    record->session = state.session;
    record->offset = offset;
    record->size = size;
    memcpy(record->before, before, sizeof(record->before));
    return record;
}

static void copy_counts(uint64_t* counts) {
    for (unsigned i = 0; i < LOGGED_THREADS; ++i)
        counts[i] = state.counts[i];
}

static void end_record(struct record* record) {
    copy_counts(record->after);
    atomic_store(&state.log->end, next_record(atomic_load(&state.log->end), record->size));
    ++state.log->records;
}

// It logs the current bytes of the range, because what another lane has stored there since may be
// durable, too.
static void log_range(enum kind kind, uint64_t offset, uint64_t size, const uint64_t* before) {
    struct record* const record = begin_record(kind, offset, size, before);
    memcpy(bytes_of(record), state.part + offset, size);
    memcpy(state.durable + offset, bytes_of(record), size);
    end_record(record);
}

static void log_only_stored(const uint64_t* before) {
    uint64_t count = 0;
    for (uint64_t at = HEADER_SIZE; at < state.size; at += PIECE_SIZE)
        count += memcmp(state.part + at, state.durable + at, PIECE_SIZE) != 0;
    const uint64_t most = count;
    struct record* const record = begin_record(only_stored, 0, most * sizeof(struct piece), before);
    struct piece* const pieces = (struct piece*)bytes_of(record);
    count = 0;
    for (uint64_t at = HEADER_SIZE; at < state.size && count < most; at += PIECE_SIZE) {
        if (memcmp(state.part + at, state.durable + at, PIECE_SIZE) == 0)
            continue;
        pieces[count].offset = at;
        memcpy(pieces[count].bytes, state.part + at, PIECE_SIZE);
        ++count;
    }
    record->size = count * sizeof(struct piece);
    end_record(record);
}

static void die(void) { _exit(1); }

enum fault { none, before_durable, in_between, before_ack };

// Returns a random part of SIZE that ends at a multiple of 8, because words are written atomically.
static uint64_t random_words(uint64_t offset, uint64_t size) {
    const uint64_t end = (offset + random_below(size + 1)) / 8 * 8;
    return end > offset ? end - offset : 0;
}

static enum fault next_fault(void) {
    if (state.log->fault_every == 0 || --state.log->records_left > 0)
        return none;
    return (enum fault)(1 + random_below(3));
}

// The lock is held until the range is durable, so that acknowledgements have the order of the log.
static int log_persist(const void* address, size_t size, int (*persist)(const void*, size_t)) {
    const uint64_t offset = (uint64_t)((const unsigned char*)address - state.part);
    if (state.part == NULL || offset >= state.size || offset < HEADER_SIZE)
        return persist(address, size);
    uint64_t before[LOGGED_THREADS];
    lock();
    copy_counts(before);
    const enum fault fault = next_fault();
    if (fault != none || random_below(32) == 0)
        log_only_stored(before);
    if (fault == in_between)
        log_range(cut_short, offset, random_words(offset, size), before);
    if (fault == before_durable || fault == in_between)
        die();
    const int status = persist(address, size);
    if (status == 0)
        log_range(made_durable, offset, size, before);
    if (fault == before_ack)
        die();
    unlock();
    return status;
}

// --- replacements of libpmem's functions ---------------------------------------------------------

// A daemon drains at the latest after each message, which has only a few ranges.
enum { max_flushed = 4096 };

// The ranges that this thread has flushed and not drained.
static _Thread_local struct {
    const void* address;
    size_t size;
} flushed[max_flushed];
static _Thread_local unsigned flushed_count;

static void note_flushed(const void* address, size_t size) {
    if (flushed_count == max_flushed) {
        fprintf(stderr, "log_medium: more than %d ranges await a drain\n", max_flushed);
        abort();
    }
    flushed[flushed_count].address = address;
    flushed[flushed_count++].size = size;
}

void pmem_flush(const void* address, size_t size) {
    void (*real)(const void*, size_t);
    find_next("pmem_flush", &real);
    real(address, size);
    note_flushed(address, size);
}

void* pmem_memcpy(void* destination, const void* source, size_t size, unsigned flags) {
    void* (*real)(void*, const void*, size_t, unsigned);
    find_next("pmem_memcpy", &real);
    real(destination, source, size, flags);
    note_flushed(destination, size); // the daemon passes PMEM_F_MEM_NODRAIN
    return destination;
}

static int already_durable(const void* address, size_t size) {
    (void)address;
    (void)size;
    return 0;
}

void pmem_drain(void) {
    void (*real)(void);
    find_next("pmem_drain", &real);
    real();
    for (unsigned i = 0; i < flushed_count; ++i)
        (void)log_persist(flushed[i].address, flushed[i].size, already_durable);
    flushed_count = 0;
}

// libpmem's own pmem_persist() may call the functions above, which would enter log_persist() again.
static int flush_and_drain(const void* address, size_t size) {
    void (*flush)(const void*, size_t);
    void (*drain)(void);
    find_next("pmem_flush", &flush);
    find_next("pmem_drain", &drain);
    flush(address, size);
    drain();
    return 0;
}

static int msync_next(const void* address, size_t size) {
    int (*real)(const void*, size_t);
    find_next("pmem_msync", &real);
    return real(address, size);
}

void pmem_persist(const void* address, size_t size) {
    (void)log_persist(address, size, flush_and_drain);
}

int pmem_msync(const void* address, size_t size) { return log_persist(address, size, msync_next); }
