/* SPDX-License-Identifier: BSD-3-Clause */
// Makes one step: a transaction on the slot, then some writes outside of it.
#include "tests/clients/workload.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A well-mixed function of its argument (the finalizer of the SplitMix64 generator).
uint64_t mix(uint64_t number) {
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

struct plan plan_step(unsigned slot, uint64_t step, uint64_t depth) {
    struct plan plan = {.seed = mix(((uint64_t)slot << 48) + step)};
    const uint64_t dice = mix(plan.seed);
    plan.pop = depth > 0 && (depth >= MAX_DEPTH || dice % 3 == 0);
    plan.abort_first = (dice >> 8) % 8 == 0;
    plan.relaxed_copy = (dice >> 16) % 3 == 0;
    // Few sizes with little spread, because every size class of the allocator reserves space.
    static const size_t sizes[] = {40, 200, 200, 1000, 1000, 5000, 16000, 300000};
    const size_t size = sizes[(dice >> 24) % (sizeof(sizes) / sizeof(sizes[0]))];
    plan.size = size - (size_t)((dice >> 40) % (size / 16 + 1));
    plan.value = (unsigned)((dice >> 32) % VALUES);
    plan.values = 1 + (unsigned)((dice >> 48) % 16);
    if (plan.values > VALUES - plan.value)
        plan.values = VALUES - plan.value;
    plan.tail_at = (unsigned)(mix(dice + 1) % sizeof(((struct slot*)NULL)->tail));
    plan.tail_size = 1 + (unsigned)(mix(dice + 2) % (sizeof(((struct slot*)NULL)->tail)));
    if (plan.tail_size > sizeof(((struct slot*)NULL)->tail) - plan.tail_at)
        plan.tail_size = (unsigned)sizeof(((struct slot*)NULL)->tail) - plan.tail_at;
    return plan;
}

size_t spare_size(unsigned slot, uint64_t step) {
    return 40 + (size_t)(mix(mix(((uint64_t)slot << 44) + step)) % 2000);
}

void fill_payload(unsigned char* bytes, size_t size, unsigned slot, uint64_t step) {
    uint64_t word = 0;
    for (size_t i = 0; i < size; ++i) {
        if (i % sizeof(word) == 0)
            word = mix(((uint64_t)slot << 40) + (step << 20) + i);
        bytes[i] = (unsigned char)(word >> (8 * (i % sizeof(word))));
    }
}

// Call within a transaction.
static void push(PMEMobjpool* pool, struct slot* slot, unsigned number, const struct plan* plan) {
    const size_t size = sizeof(struct node) + plan->size;
    const PMEMoid oid = pmemobj_tx_xalloc(size, 1, plan->relaxed_copy ? POBJ_XALLOC_NO_FLUSH : 0);
    struct node* node = pmemobj_direct(oid);
    struct node* source = plan->relaxed_copy ? malloc(size) : node;
    if (source == NULL) {
        pmemobj_tx_abort(ENOMEM);
        return;
    }
    source->next = slot->head;
    source->step = slot->steps;
    source->size = plan->size;
    fill_payload(source->payload, plan->size, number, slot->steps);
    if (plan->relaxed_copy) {
        pmemobj_memcpy(pool, node, source, size, PMEMOBJ_F_RELAXED | PMEMOBJ_F_MEM_NODRAIN);
        pmemobj_drain(pool);
        free(source);
    }
    slot->head = oid;
    ++slot->depth;
}

// Call within a transaction.
static void pop(struct slot* slot) {
    const struct node* node = pmemobj_direct(slot->head);
    const PMEMoid next = node->next;
    pmemobj_tx_free(slot->head);
    slot->head = next;
    --slot->depth;
}

// Call within a transaction.
static void grow_table(struct slot* slot, const struct plan* plan) {
    const uint64_t count = slot->steps / STEPS_PER_TABLE_ENTRY % TABLE_ENTRIES + 1;
    slot->table = pmemobj_tx_realloc(slot->table, count * sizeof(uint64_t), 2);
    uint64_t* table = pmemobj_direct(slot->table);
    pmemobj_tx_add_range_direct(&table[count - 1], sizeof(uint64_t));
    table[count - 1] = plan->seed;
}

// Each step changes the members before `values`.
static void change(PMEMobjpool* pool, struct slot* slot, unsigned number, const struct plan* plan) {
    pmemobj_tx_add_range_direct(slot, offsetof(struct slot, values));
    if (plan->pop)
        pop(slot);
    else
        push(pool, slot, number, plan);
    if (slot->steps % STEPS_PER_TABLE_ENTRY == 0)
        grow_table(slot, plan);
    pmemobj_tx_add_range_direct(&slot->values[plan->value], plan->values * sizeof(slot->values[0]));
    for (unsigned i = 0; i < plan->values; ++i)
        slot->values[plan->value + i] = plan->seed + i;
    ++slot->steps;
}

enum ending { commit, abort_on_purpose, die };

static int transact(PMEMobjpool* pool, struct slot* slot, unsigned number, const struct plan* plan,
                    enum ending ending) {
    int error = 0;
    TX_BEGIN(pool) {
        change(pool, slot, number, plan);
        if (ending == die)
            kill(getpid(), SIGKILL);
        if (ending == abort_on_purpose)
            pmemobj_tx_abort(ECANCELED);
    }
    TX_END
    error = pmemobj_tx_errno();
    if (ending == abort_on_purpose)
        return error == ECANCELED ? 0 : EPROTO;
    return error;
}

static int construct_spare(PMEMobjpool* pool, void* memory, void* argument) {
    struct spare* spare = memory;
    const struct spare* wanted = argument;
    memcpy(spare, wanted, sizeof(*wanted) + wanted->size);
    pmemobj_persist(pool, spare, sizeof(*wanted) + wanted->size);
    return 0;
}

// Even steps allocate the spare, odd ones free it.
static int change_spare(PMEMobjpool* pool, struct slot* slot, unsigned number, uint64_t step) {
    if (step % 2 == 1) {
        pmemobj_free(&slot->spare);
        return 0;
    }
    const size_t size = spare_size(number, step);
    struct spare* wanted = malloc(sizeof(*wanted) + size);
    if (wanted == NULL)
        return ENOMEM;
    wanted->step = step;
    wanted->size = size;
    fill_payload(wanted->payload, size, number, step);
    const int failed =
        pmemobj_alloc(pool, &slot->spare, sizeof(*wanted) + size, 3, construct_spare, wanted) != 0;
    free(wanted);
    return failed ? ENOMEM : 0;
}

// Writes in turn with each function that libpmemobj has for writes outside of transactions.
static void write_journal(PMEMobjpool* pool, struct slot* slot, uint64_t step,
                          const struct plan* plan) {
    uint64_t* word = &slot->journal[step % JOURNAL];
    switch (step % 3) {
    case 0:
        pmemobj_memcpy_persist(pool, word, &plan->seed, sizeof(*word));
        break;
    case 1:
        *word = plan->seed;
        pmemobj_persist(pool, word, sizeof(*word));
        break;
    default:
        *word = plan->seed;
        pmemobj_flush(pool, word, sizeof(*word));
        pmemobj_drain(pool);
        break;
    }
}

static void write_tail(PMEMobjpool* pool, struct slot* slot, const struct plan* plan) {
    pmemobj_memset_persist(pool, slot->tail + plan->tail_at, (int)(plan->seed & 0xff),
                           plan->tail_size);
}

static int has_tail(const struct slot* slot, const struct plan* plan) {
    for (unsigned i = 0; i < plan->tail_size; ++i)
        if (slot->tail[plan->tail_at + i] != (unsigned char)(plan->seed & 0xff))
            return 0;
    return 1;
}

int step_finish(PMEMobjpool* pool, struct root* root, unsigned number) {
    struct slot* slot = &root->slots[number];
    if (slot->steps == 0)
        return 0;
    const uint64_t step = slot->steps - 1;
    const struct plan plan = plan_step(number, step, 0); // the depth has no effect on these writes
    // What this machine has is not written again. Else a replica that lacks it would get it.
    if (slot->journal[step % JOURNAL] != plan.seed)
        write_journal(pool, slot, step, &plan);
    if (!has_tail(slot, &plan))
        write_tail(pool, slot, &plan);
    const int lacks_spare = OID_IS_NULL(slot->spare) == (step % 2 == 0);
    const int error = lacks_spare ? change_spare(pool, slot, number, step) : 0;
    if (error != 0 || list_has(&root->lists[number], number, slot->steps))
        return error;
    return list_change(pool, &root->lists[number], number, step);
}

int step_perform(PMEMobjpool* pool, struct root* root, unsigned number, int crash) {
    struct slot* slot = &root->slots[number];
    const uint64_t step = slot->steps;
    const struct plan plan = plan_step(number, step, slot->depth);
    if (plan.abort_first) {
        const int error = transact(pool, slot, number, &plan, abort_on_purpose);
        if (error != 0)
            return error;
    }
    int error = transact(pool, slot, number, &plan, crash ? die : commit);
    if (error != 0)
        return error;
    write_journal(pool, slot, step, &plan);
    write_tail(pool, slot, &plan);
    error = change_spare(pool, slot, number, step);
    return error != 0 ? error : list_change(pool, &root->lists[number], number, step);
}
