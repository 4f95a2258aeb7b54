/* SPDX-License-Identifier: BSD-3-Clause */
// The log of what became durable on the target's medium, one record for each range, in that order.
// All daemons of a test write it to one file (log_medium.c), and check_prefixes.c reads it.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define HEADER_SIZE 4096 // of a part, which lanes never write
#define LOGGED_THREADS 4
#define PIECE_SIZE 4096

enum kind {
    made_durable, // these bytes, exactly the range that the daemon wanted durable
    cut_short,    // the first bytes of the range, as if the power failed during the write
    only_stored,  // pieces that are in the daemon's memory and not durable; the kernel or the
                  // caches may write them at any time
};

// The bytes of the range, or the pieces, follow. The next record begins at a multiple of 8.
struct record {
    uint64_t kind;
    uint64_t session; // from 1: each daemon
    uint64_t offset;  // in the part
    uint64_t size;    // of what follows
    // Steps that the program's threads had made before the daemon was to make the range durable,
    // and after that.
    uint64_t before[LOGGED_THREADS];
    uint64_t after[LOGGED_THREADS];
};

struct piece {
    uint64_t offset;
    unsigned char bytes[PIECE_SIZE];
};

// The file begins with this. The mutex is robust, because a daemon may die while it holds it.
struct medium_log {
    pthread_mutex_t mutex;
    uint64_t capacity;    // of the file
    _Atomic uint64_t end; // of the last record that is complete
    uint64_t records;
    uint64_t sessions;
    uint64_t random;       // state of the generator that decides where daemons die
    uint64_t records_left; // until the current daemon dies
    uint64_t fault_every;  // mean number of records until a daemon dies; 0: never
};

static inline uint64_t next_record(uint64_t place, uint64_t size) {
    return place + sizeof(struct record) + (size + 7) / 8 * 8;
}
