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

// A list as libpmemobj's pmemobj_list_*() know it, one for each thread.
struct list {
    PMEMoid first;
    PMEMmutex lock; // differs between replicas: nobody makes it durable
};

struct item {
    PMEMoid next;
    PMEMoid prev;
    uint64_t step;
    unsigned char payload[200];
};

struct root {
    struct slot slots[MAX_SLOTS];
    struct list lists[MAX_SLOTS];
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
int step_perform(PMEMobjpool* pool, struct root* root, unsigned number, int crash);
int list_change(PMEMobjpool* pool, struct list* list, unsigned number, uint64_t step);
// These return 0 if the slot or the list holds what that many steps make; and say what does not
// fit.
int slot_verify(const struct root* root, unsigned number, uint64_t steps);
int list_verify(const struct list* list, unsigned number, uint64_t steps);
// What was cut off at any moment: LEAST steps were made, MOST were at least begun, and of the last
// one that has committed a part of what follows the transaction may be there.
int slot_verify_cut(const struct root* root, unsigned number, uint64_t least, uint64_t most);
// The stack and the table.
int slot_verify_objects(const struct slot* slot, unsigned number);
int list_has(const struct list* list, unsigned number, uint64_t steps); // says nothing
int wrong(unsigned number, const char* what, uint64_t where);
uint64_t list_length(const struct list* list);
// Objects that hang on the slot and its list.
uint64_t slot_count_objects(const struct root* root, unsigned number);
// Their offsets and sizes in the pool, and what else of the list is durable.
void slot_print_extents(const struct root* root, unsigned number, FILE* file);
void list_print_extents(const struct list* list, FILE* file);
