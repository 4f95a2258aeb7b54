/* SPDX-License-Identifier: BSD-3-Clause */
// What the workload keeps in the pool, and its two halves: making a step, and checking all steps.
#pragma once

#include <libpmemobj.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAYOUT "rpmem_workload"
#define MAX_SLOTS 32
#define VALUES 512
#define JOURNAL 256
#define MAX_DEPTH 12
#define STEPS_PER_TABLE_ENTRY 16
#define TABLE_ENTRIES 1024 // then the table begins anew

// One of a stack of blocks, contents known from the step that made it.
struct node {
    PMEMoid next;
    uint64_t step;
    uint64_t size; // of the payload
    unsigned char payload[];
};

// What one thread works on.
struct slot {
    uint64_t steps; // done so far
    uint64_t depth; // of the stack
    PMEMoid head;
    PMEMoid table;               // grows by one number every few steps, reallocated each time
    PMEMoid spare;               // allocated and freed in turn, outside transactions
    uint64_t values[VALUES];     // overwritten here and there within transactions
    uint64_t journal[JOURNAL];   // one word a step, written outside transactions
    unsigned char tail[3 << 12]; // filled with one byte value, outside transactions
};

struct root {
    struct slot slots[MAX_SLOTS];
};

// What a step does, known from its number and the slot's.
struct plan {
    uint64_t seed;
    int pop;          // take a block off the stack, rather than put one on
    int abort_first;  // the same transaction is aborted once before
    int relaxed_copy; // fill the block by an explicit copy, not by the commit
    size_t size;      // of the block
    unsigned value;   // first of the values written
    unsigned values;  // how many
    unsigned tail_at; // range of the tail to fill
    unsigned tail_size;
};

// What a step leaves in slot.spare.
struct spare {
    uint64_t step;
    uint64_t size; // of the payload
    unsigned char payload[];
};

uint64_t mix(uint64_t number);
struct plan plan_step(unsigned slot, uint64_t step, uint64_t depth);
size_t spare_size(unsigned slot, uint64_t step);
void fill_payload(unsigned char* bytes, size_t size, unsigned slot, uint64_t step);

// 0, or an errno. CRASH: the process is killed inside the transaction.
int step_perform(PMEMobjpool* pool, struct slot* slot, unsigned number, int crash);
// 0 if SLOT holds what EXPECTED steps make; says what does not fit.
int slot_verify(const struct slot* slot, unsigned number, uint64_t expected);
// Offset and size in the pool of every object that hangs on SLOT.
void slot_print_extents(const struct slot* slot, FILE* file);
