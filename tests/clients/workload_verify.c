/* SPDX-License-Identifier: BSD-3-Clause */
// Checks a slot: replays its steps in ordinary memory and compares the pool with the result.
#include "tests/clients/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model {
    uint64_t stack[MAX_DEPTH]; // steps that made the blocks
    size_t sizes[MAX_DEPTH];
    uint64_t depth;
    struct slot expected; // values, journal and tail
};

int wrong(unsigned number, const char* what, uint64_t where) {
    fprintf(stderr, "workload: slot %u: %s %llu is wrong\n", number, what,
            (unsigned long long)where);
    return 1;
}

static void replay(struct model* model, unsigned number, uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) {
        const struct plan plan = plan_step(number, step, model->depth);
        if (plan.pop) {
            --model->depth;
        } else {
            model->stack[model->depth] = step;
            model->sizes[model->depth] = plan.size;
            ++model->depth;
        }
        for (unsigned i = 0; i < plan.values; ++i)
            model->expected.values[plan.value + i] = plan.seed + i;
        model->expected.journal[step % JOURNAL] = plan.seed;
        memset(model->expected.tail + plan.tail_at, (int)(plan.seed & 0xff), plan.tail_size);
    }
}

static int verify_node(const struct node* node, const struct model* model, uint64_t at,
                       unsigned number) {
    if (node == NULL || node->step != model->stack[at] || node->size != model->sizes[at])
        return wrong(number, "the head of block", at);
    const size_t allocated = pmemobj_alloc_usable_size(pmemobj_oid(node));
    if (allocated < sizeof(*node) + node->size)
        return wrong(number, "the allocated size of block", at);
    unsigned char* payload = malloc(node->size);
    if (payload == NULL)
        return wrong(number, "memory to check block", at);
    fill_payload(payload, node->size, number, node->step);
    const int differs = memcmp(payload, node->payload, node->size) != 0;
    free(payload);
    return differs ? wrong(number, "the payload of block", at) : 0;
}

static int verify_stack(const struct slot* slot, const struct model* model, unsigned number) {
    if (slot->depth != model->depth)
        return wrong(number, "the stack's depth", slot->depth);
    PMEMoid oid = slot->head;
    for (uint64_t at = model->depth; at > 0; --at) {
        const struct node* node = pmemobj_direct(oid);
        if (verify_node(node, model, at - 1, number) != 0)
            return 1;
        oid = node->next;
    }
    return OID_IS_NULL(oid) ? 0 : wrong(number, "the stack's end after block", model->depth);
}

// Counts the entries of the whole run, including those that the table no longer has.
static uint64_t all_entries(const struct slot* slot) {
    return (slot->steps + STEPS_PER_TABLE_ENTRY - 1) / STEPS_PER_TABLE_ENTRY;
}

static uint64_t table_entries(const struct slot* slot) {
    const uint64_t all = all_entries(slot);
    return all == 0 ? 0 : (all - 1) % TABLE_ENTRIES + 1;
}

static int verify_spare(const struct slot* slot, unsigned number, uint64_t steps) {
    if (steps % 2 == 0)
        return OID_IS_NULL(slot->spare) ? 0 : wrong(number, "the spare after step", steps);
    const uint64_t step = steps - 1;
    const size_t size = spare_size(number, step);
    const struct spare* spare = pmemobj_direct(slot->spare);
    if (spare == NULL || spare->step != step || spare->size != size)
        return wrong(number, "the head of the spare of step", step);
    unsigned char payload[4096];
    if (size > sizeof(payload))
        return wrong(number, "the size of the spare of step", step);
    fill_payload(payload, size, number, step);
    return memcmp(payload, spare->payload, size) == 0
               ? 0
               : wrong(number, "the payload of the spare of step", step);
}

static int verify_table(const struct slot* slot, unsigned number) {
    const uint64_t* table = pmemobj_direct(slot->table);
    const uint64_t count = table_entries(slot);
    const uint64_t first = all_entries(slot) - count;
    if (count > 0 && table == NULL)
        return wrong(number, "the table, entries:", count);
    for (uint64_t i = 0; i < count; ++i) {
        // The seed of a step does not depend on the depth.
        if (table[i] != plan_step(number, (first + i) * STEPS_PER_TABLE_ENTRY, 0).seed)
            return wrong(number, "table entry", i);
    }
    return 0;
}

static int verify_values(const struct slot* slot, const struct model* model, unsigned number) {
    for (unsigned i = 0; i < VALUES; ++i) {
        if (slot->values[i] != model->expected.values[i])
            return wrong(number, "value", i);
    }
    return 0;
}

static int verify_journal(const struct slot* slot, const struct model* model, unsigned number) {
    for (unsigned i = 0; i < JOURNAL; ++i) {
        if (slot->journal[i] != model->expected.journal[i])
            return wrong(number, "journal word", i);
    }
    return 0;
}

static int verify_tail(const struct slot* slot, const struct model* model, unsigned number) {
    for (unsigned i = 0; i < sizeof(slot->tail); ++i) {
        if (slot->tail[i] != model->expected.tail[i])
            return wrong(number, "tail byte", i);
    }
    return 0;
}

static int verify_transactions(const struct slot* slot, const struct model* model,
                               unsigned number) {
    return verify_stack(slot, model, number) != 0 || verify_table(slot, number) != 0 ||
           verify_values(slot, model, number) != 0;
}

static struct model* make_model(unsigned number, uint64_t steps) {
    struct model* model = calloc(1, sizeof(*model));
    if (model == NULL) {
        perror("workload: memory to check steps");
        exit(1);
    }
    replay(model, number, steps);
    return model;
}

int slot_verify(const struct root* root, unsigned number, uint64_t steps) {
    const struct slot* slot = &root->slots[number];
    if (slot->steps != steps) {
        fprintf(stderr, "workload: slot %u: %llu steps found, %llu expected\n", number,
                (unsigned long long)slot->steps, (unsigned long long)steps);
        return 1;
    }
    struct model* model = make_model(number, steps);
    const int failed =
        verify_transactions(slot, model, number) != 0 || verify_journal(slot, model, number) != 0 ||
        verify_tail(slot, model, number) != 0 || verify_spare(slot, number, steps) != 0 ||
        list_verify(&root->lists[number], number, steps) != 0;
    free(model);
    return failed;
}

int slot_verify_objects(const struct slot* slot, unsigned number) {
    struct model* model = make_model(number, slot->steps);
    const int failed = verify_transactions(slot, model, number);
    free(model);
    return failed;
}

// Checks the writes of STEP outside of transactions. They are made in a fixed order, so the pool
// has the first of them and not the others. OLDER is the model before STEP, NEWER the one after it.
static int verify_last_step(const struct root* root, unsigned number, uint64_t step,
                            const struct model* older, const struct model* newer) {
    const struct slot* slot = &root->slots[number];
    const struct list* list = &root->lists[number];
    const unsigned at = (unsigned)(step % JOURNAL);
    struct model* seen = malloc(sizeof(*seen)); // OLDER, with writes of NEWER that the pool has
    if (seen == NULL)
        return wrong(number, "memory to check step", step);
    *seen = *older;
    if (slot->journal[at] == newer->expected.journal[at])
        seen->expected.journal[at] = slot->journal[at];
    int in_tail = 0;
    for (unsigned i = 0; i < sizeof(slot->tail); ++i) {
        if (slot->tail[i] != newer->expected.tail[i] || slot->tail[i] == older->expected.tail[i])
            continue;
        seen->expected.tail[i] = slot->tail[i];
        in_tail = 1;
    }
    const int in_spare = OID_IS_NULL(slot->spare) == (step % 2 == 1);
    const int in_list = !list_has(list, number, step);
    int failed = 0;
    if (in_tail || in_spare || in_list)
        failed |= verify_journal(slot, newer, number);
    if (in_spare || in_list)
        failed |= verify_tail(slot, newer, number);
    if (!failed)
        failed = verify_journal(slot, seen, number) != 0 || verify_tail(slot, seen, number) != 0 ||
                 verify_spare(slot, number, in_spare || in_list ? step + 1 : step) != 0 ||
                 list_verify(list, number, in_list ? step + 1 : step) != 0;
    free(seen);
    return failed;
}

int slot_verify_cut(const struct root* root, unsigned number, uint64_t least, uint64_t most) {
    const struct slot* slot = &root->slots[number];
    const uint64_t steps = slot->steps;
    if (steps < least || steps > most) {
        fprintf(stderr, "workload: slot %u: %llu steps found, %llu to %llu expected\n", number,
                (unsigned long long)steps, (unsigned long long)least, (unsigned long long)most);
        return 1;
    }
    if (steps == least)
        return slot_verify(root, number, steps);
    struct model* older = make_model(number, steps - 1);
    struct model* newer = make_model(number, steps);
    const int failed = verify_transactions(slot, newer, number) != 0 ||
                       verify_last_step(root, number, steps - 1, older, newer) != 0;
    free(older);
    free(newer);
    return failed;
}

uint64_t slot_count_objects(const struct root* root, unsigned number) {
    const struct slot* slot = &root->slots[number];
    return slot->depth + !OID_IS_NULL(slot->table) + !OID_IS_NULL(slot->spare) +
           list_length(&root->lists[number]);
}

void slot_print_extents(const struct root* root, unsigned number, FILE* file) {
    const struct slot* slot = &root->slots[number];
    if (table_entries(slot) > 0)
        fprintf(file, "%llu %llu\n", (unsigned long long)slot->table.off,
                (unsigned long long)(table_entries(slot) * sizeof(uint64_t)));
    if (!OID_IS_NULL(slot->spare)) {
        const struct spare* spare = pmemobj_direct(slot->spare);
        fprintf(file, "%llu %llu\n", (unsigned long long)slot->spare.off,
                (unsigned long long)(sizeof(*spare) + spare->size));
    }
    for (PMEMoid oid = slot->head; !OID_IS_NULL(oid);) {
        const struct node* node = pmemobj_direct(oid);
        fprintf(file, "%llu %llu\n", (unsigned long long)oid.off,
                (unsigned long long)(sizeof(*node) + node->size));
        oid = node->next;
    }
    list_print_extents(&root->lists[number], file);
}
