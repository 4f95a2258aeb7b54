/* SPDX-License-Identifier: BSD-3-Clause */
// Layout of the workload's pool, and the functions that make a step and check all steps.
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
#define TABLE_ENTRIES 1024 // after these the table starts again at its first entry

// A block of a stack. Its content follows from the step that made it.
struct node {
    PMEMoid next;
    uint64_t step;
    uint64_t size; // of the payload
    unsigned char payload[];
};

// The data of one thread.
struct slot {
    uint64_t steps; // committed so far
    uint64_t depth; // of the stack
    PMEMoid head;
    PMEMoid table;               // grows by one number every few steps, reallocated each time
    PMEMoid spare;               // allocated and freed in turn, outside transactions
    uint64_t values[VALUES];     // a few are overwritten within each transaction
    uint64_t journal[JOURNAL];   // one word per step, written outside transactions
    unsigned char tail[3 << 12]; // filled with one byte value, outside transactions
};

// Head of a list of libpmemobj's pmemobj_list_*() functions, one for each thread.
struct list {
    PMEMoid first;
    PMEMmutex lock; // differs between replicas, because it is never made durable
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

// What a step does. It follows from the numbers of step and slot, and from the depth of the stack.
struct plan {
    uint64_t seed;
    int pop;          // pop a block instead of pushing one
    int abort_first;  // abort the same transaction once before it commits
    int relaxed_copy; // fill the block by an explicit copy, not by the commit
    size_t size;      // of the block
    unsigned value;   // index of the first value written
    unsigned values;  // number of values written
    unsigned tail_at; // range of the tail to fill
    unsigned tail_size;
};

// The object in slot.spare.
struct spare {
    uint64_t step;
    uint64_t size; // of the payload
    unsigned char payload[];
};

uint64_t mix(uint64_t number);
struct plan plan_step(unsigned slot, uint64_t step, uint64_t depth);
size_t spare_size(unsigned slot, uint64_t step);
void fill_payload(unsigned char* bytes, size_t size, unsigned slot, uint64_t step);

// These return 0 or an errno. With CRASH, the process kills itself inside the transaction.
int step_perform(PMEMobjpool* pool, struct root* root, unsigned number, int crash);
// Makes the writes of the last step that a program lacks which ended in the middle of it.
int step_finish(PMEMobjpool* pool, struct root* root, unsigned number);
int list_change(PMEMobjpool* pool, struct list* list, unsigned number, uint64_t step);
// These return 0 if the slot or the list has the content after STEPS steps. Else they print the
// first difference.
int slot_verify(const struct root* root, unsigned number, uint64_t steps);
int list_verify(const struct list* list, unsigned number, uint64_t steps);
// Checks a pool that was cut off at any moment. At least LEAST steps have committed, and at most
// MOST were begun. Writes after the transaction of the last committed step may be missing in part.
int slot_verify_cut(const struct root* root, unsigned number, uint64_t least, uint64_t most);
// Checks the stack, the table and the values against slot.steps.
int slot_verify_objects(const struct slot* slot, unsigned number);
int list_has(const struct list* list, unsigned number, uint64_t steps); // prints nothing
int wrong(unsigned number, const char* what, uint64_t where);
uint64_t list_length(const struct list* list);
// Returns the number of objects that the slot and its list refer to.
uint64_t slot_count_objects(const struct root* root, unsigned number);
// These print the offsets and sizes of these objects, and of the durable part of the list head.
void slot_print_extents(const struct root* root, unsigned number, FILE* file);
void list_print_extents(const struct list* list, FILE* file);
